"""What ops and kernels cost: floating-point operations, bytes, and work. One model for all stages."""
