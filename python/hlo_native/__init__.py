"""Native modules of `hlo`: the dialect, its generated op classes, packing and the runtime."""
