"""The standard MLIR conversions to the llvm dialect, and the modules they run on."""
