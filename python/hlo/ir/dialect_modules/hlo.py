"""The Python side of the `hlo` dialect as the bindings look it up, once: nothing more than that it
is there.

Without it they search for it again at every operation. The classes of operations are in
`hlo.ir.ops`, and are used when that module has been imported.
"""
