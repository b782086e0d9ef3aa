"""The passes of `hlo`, a folder a stage; stages meet only in the IR."""
