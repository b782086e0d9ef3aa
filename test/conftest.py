"""What holds for every test."""

from __future__ import annotations

import os

# What is tested is compilation: nothing may come from an earlier run. The cache's own tests turn it
# on for themselves, in folders of their own.
os.environ["HLO_CACHE"] = "0"
