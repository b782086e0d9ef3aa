"""The front end's core: pytrees, tracers, the trace, `jit`; docs/frontend.md tells how it works.

The functions that users call are in `hlo.numpy`, `hlo.lax`, `hlo.random` and `hlo.nn`.
"""
