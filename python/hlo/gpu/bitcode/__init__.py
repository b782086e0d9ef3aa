"""The LLVM code that PTX is made from, compiled for this machine and run as a fiber a thread."""
