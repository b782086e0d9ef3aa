"""The `memref` dialect: passes know its ops by their names, without MLIR's classes for them."""
