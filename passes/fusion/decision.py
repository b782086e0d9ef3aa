"""Whether two ops share a kernel, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FusionDecision:
    """Whether a producer was fused into a consumer's kernel, and why."""

    fused: bool
    reason: str

    @staticmethod
    def yes(reason: str) -> FusionDecision:
        return FusionDecision(True, reason)

    @staticmethod
    def no(reason: str) -> FusionDecision:
        return FusionDecision(False, reason)

    def __bool__(self) -> bool:
        return self.fused
