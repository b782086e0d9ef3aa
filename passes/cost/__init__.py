"""What ops and kernels cost: flops, bytes, and work. One model for all stages."""
