"""GPU kernels as PTX, through MLIR's llvm and nvvm dialects."""
