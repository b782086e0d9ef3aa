"""A differential fuzzer: random hlo programs, unoptimised, optimised, and by the reference.

`programs` grows programs, `differences` runs and compares them, and cuts failing ones down.
"""
