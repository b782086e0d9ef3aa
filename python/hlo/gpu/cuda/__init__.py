"""NVIDIA GPUs through the CUDA driver API, loaded when first used."""
