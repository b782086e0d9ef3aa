"""Where the bindings look for the Python side of a dialect, one module a dialect, before they load
MLIR's own: those take 15 ms, and ops are known by their names.
"""
