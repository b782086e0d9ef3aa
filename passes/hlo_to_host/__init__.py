"""From fused `hlo` on tensors to kernels and a host program on memref."""
