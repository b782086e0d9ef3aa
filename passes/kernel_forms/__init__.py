"""Rewrites on `hlo` that give heavy ops the forms in which kernels are fast."""
