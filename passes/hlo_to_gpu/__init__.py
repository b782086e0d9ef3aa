"""From regions of `hlo` to GPU kernels: the kernels of passes/hlo_to_loops, spread over threads."""
