"""Native modules of `hlo`: the dialect (`_dialect`), its generated op classes, and the runtime (`_runtime`)."""
