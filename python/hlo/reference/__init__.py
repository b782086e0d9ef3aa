"""The reference semantics of the `hlo` dialect: one pure NumPy function an operation, and an
evaluator of modules.

It is the oracle of the compiler's tests, made to be right and readable; it is not made to be fast.
The functions need NumPy alone; `hlo.reference.evaluate` is what walks a module.
"""
