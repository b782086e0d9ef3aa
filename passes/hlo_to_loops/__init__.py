"""From a kernel's `hlo` region to loops: scf, vector, arith and memref."""
