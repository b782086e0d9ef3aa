"""Conformance: programs and results that others wrote, through `hlo.compile`.

`jax_harnesses` makes cases from JAX's own primitive tests, `stablehlo_vectors` from StableHLO's.
`pool` runs cases in worker processes, so a crash or a hang costs one case; `report` counts.
"""
