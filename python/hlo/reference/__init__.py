"""The reference semantics of the `hlo` dialect: one pure NumPy function an operation, and an evaluator of modules.

It is the oracle of the compiler's tests, made to be right and readable; it is not made to be fast.
"""

from __future__ import annotations

from hlo.reference.evaluate import Evaluator, evaluate

__all__ = ["Evaluator", "evaluate"]
