"""Where the bindings look for the Python side of a dialect, one module a dialect."""
