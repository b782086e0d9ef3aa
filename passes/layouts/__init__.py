"""Which dimension of a value is minor in memory: layouts chosen, then made physical."""
