"""The pipeline of compilation, phase by phase."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

from hlo.driver.pass_pipeline import PipelineElement, parse_pipeline
from hlo.driver.phases import Phase
from hlo.passes import legalize, simplify
from hlo.passes.fusion.fuse import Fuse
from hlo.passes.fusion.fuse_horizontally import FuseHorizontally
from hlo.passes.fusion.fuse_selections import FuseSelections
from hlo.passes.fusion.fuse_sorts import FuseSorts
from hlo.passes.fusion.fuse_updates import FuseUpdates
from hlo.passes.fusion.inline_scalars import InlineScalars
from hlo.passes.fusion.join_last_steps import JoinLastSteps
from hlo.passes.fusion.join_reduction_steps import JoinReductionSteps
from hlo.passes.fusion.join_small_steps import JoinSmallSteps
from hlo.passes.fusion.share_kernels import ShareKernels
from hlo.passes.fusion.sink_broadcasts import SinkBroadcasts
from hlo.passes.kernel_forms.arrange_gradients import ArrangeGradients
from hlo.passes.kernel_forms.arrange_selections import ArrangeSelections
from hlo.passes.kernel_forms.convolutions_to_dots import ConvolutionsToDots
from hlo.passes.kernel_forms.gradients_to_sums import GradientsToSums
from hlo.passes.kernel_forms.join_around_updates import JoinAroundUpdates
from hlo.passes.kernel_forms.merge_updates import MergeUpdates
from hlo.passes.kernel_forms.pack_kernels import PackKernels
from hlo.passes.kernel_forms.prepare_convolutions import PrepareConvolutions
from hlo.passes.kernel_forms.prepare_dots import PrepareDots
from hlo.passes.kernel_forms.prepare_sorts import PrepareSorts
from hlo.passes.kernel_forms.prepare_words import PrepareWords
from hlo.passes.kernel_forms.sink_constants import SinkConstants
from hlo.passes.kernel_forms.split_dilated_convolutions import SplitDilatedConvolutions
from hlo.passes.kernel_forms.split_dots import SplitDots
from hlo.passes.kernel_forms.split_moments import SplitMoments
from hlo.passes.kernel_forms.split_reductions import SplitReductions
from hlo.passes.kernel_forms.split_scatters import SplitScatters
from hlo.passes.kernel_forms.split_taps import SplitTaps
from hlo.passes.kernel_forms.winograd import Winograd
from hlo.passes.layouts.assign_layouts import AssignLayouts
from hlo.passes.layouts.materialize_layouts import MaterializeLayouts
from hlo.passes.legalize.verify_legalized import VerifyLegalized
from hlo.passes.memory.gather_early import GatherEarly
from hlo.passes.memory.mark_views import MarkViews
from hlo.passes.memory.recompute_results import RecomputeResults
from hlo.passes.memory.schedule import Schedule
from hlo.passes.memory.unroll_rotations import UnrollRotations


@dataclass(frozen=True)
class PipelineChoice:
    """What the passes of a compilation depend on.

    Attributes:
        composites: whether the target has kernels for attention and for several steps in one.
        fast: whether rules may change how floats round and take them for finite, and products take
            subnormal numbers for zero.
        memory_first: whether ops take the order of the least memory though it be slower.
        added: passes behind those of a phase: its label, and a pipeline as text.
    """

    composites: bool = True
    fast: bool = False
    memory_first: bool = False
    added: tuple[tuple[str, str], ...] = ()


DEFAULT = PipelineChoice()


def fusion_passes(choice: PipelineChoice = DEFAULT) -> tuple[PipelineElement, ...]:
    """Kernel forms, then fusion."""
    composites, fast = choice.composites, choice.fast
    slowdown_matters = composites and not choice.memory_first
    joining: tuple[PipelineElement, ...] = (
        JoinReductionSteps(),  # what split-reductions took apart is one launch again
        FuseHorizontally(),  # kernels are joined as they are
        JoinSmallSteps(),  # scalars ahead of the launch that reads them
    )
    # A GPU needs 100,000 threads to draw on its memory's full speed, many results or few.
    splitting = (
        SplitReductions()
        if composites
        else SplitReductions(
            pieces=512,
            partials=1 << 17,
            smallest=1 << 18,
            largest_result=1 << 15,
            longest_column=0,
        )
    )
    return (
        SinkConstants(),  # first: what follows looks at a block at a time
        AssignLayouts(gpu=not composites),  # early: what follows looks at which dimension is minor
        MaterializeLayouts(),
        MergeUpdates(),  # caches sliced, updated and put together again stay where they are
        JoinAroundUpdates(),  # what an update would read while it overwrites it
        SplitDilatedConvolutions(finite=fast),
        *((PrepareWords(fast=fast),) if composites else ()),  # which decide where padding goes
        *((GradientsToSums(),) if composites else ()),  # ahead of what turns planes around
        # Transposes, and padding that kernels do not take, become ops and fuse with neighbours.
        PrepareConvolutions(any_window=not composites),
        *((Winograd(),) if composites and fast else ()),  # ahead of what takes other forms
        *((ArrangeGradients(),) if composites else ()),  # so that few features make whole tiles
        *((SplitTaps(),) if composites else ()),  # few features of a result would not fill vectors
        ConvolutionsToDots(),  # windows of one element: all positions are rows of a product
        *((PackKernels(),) if composites else ()),  # of the convolutions that are left
        *((ArrangeSelections(),) if composites else ()),  # few channels make planes, many lanes
        PrepareSorts(),  # comparators become functions that see nothing but elements
        FuseSorts(),  # ahead of fusion, which takes slices and iotas
        PrepareDots(fast=fast, constants=composites, columns=composites),
        SplitDots(blocks=composites),  # sums of partial dots fuse with what follows
        *((SplitMoments(),) if composites else ()),  # a variance in one pass over its input
        *((SplitScatters(),) if composites else ()),  # into copies, which are reduced
        splitting,  # ahead of fusion, so that both halves take in what is around them
        *((MarkViews(),) if composites else ()),  # what kernels read in memory stays there
        *((FuseSelections(),) if composites else ()),  # ahead of what takes pads and slices
        SinkBroadcasts(),  # into loops, whose kernels then read what is smaller
        Fuse(gpu=not composites),
        *((FuseUpdates(),) if composites else ()),  # scatters take in what the kernels above make
        RecomputeResults(),  # of what kernels store, what costs no more to make again than to read
        # On a GPU the last block of a launch does what is small and waits for it.
        *(joining if composites else (InlineScalars(), FuseHorizontally(), JoinLastSteps())),
        *((ShareKernels(),) if composites else ()),  # once nothing else moves ops into them
        GatherEarly(),  # of what would be kept for a few elements; once nothing else fuses
        UnrollRotations(),  # of whole kernels, so that copies of a body are the same kernels
        # After fusion, which decides what is in memory at all. Of no GPU's caches times are known.
        Schedule() if slowdown_matters else Schedule(most_slowdown=math.inf),
    )


def phase_passes(phase: Phase, choice: PipelineChoice = DEFAULT) -> tuple[PipelineElement, ...]:
    """The passes that take a program from the phase before `phase` to it, in order.

    From `Phase.HOST` on the program is no longer one module of `hlo`: see `hlo.driver.compile`.
    """
    return (*_own(phase, replace(choice, added=())), *_added(phase, choice))


@cache
def _own(phase: Phase, choice: PipelineChoice) -> tuple[PipelineElement, ...]:
    """The compiler's own passes, made once: they hold options alone."""
    if phase is Phase.FUSED:
        return fusion_passes(choice)
    return {
        Phase.LEGALIZED: legalize.PIPELINE,
        Phase.SIMPLIFIED: simplify.FAST_PIPELINE if choice.fast else simplify.PIPELINE,
    }.get(phase, ())


def _added(phase: Phase, choice: PipelineChoice) -> list[PipelineElement]:
    texts = [text for label, text in choice.added if label == phase.label]
    elements = [element for text in texts for element in parse_pipeline(text)]
    if elements and phase in (Phase.LEGALIZED, Phase.SIMPLIFIED):
        elements.append(VerifyLegalized())  # what follows takes core ops alone
    return elements


def passes_to(phase: Phase, choice: PipelineChoice = DEFAULT) -> list[PipelineElement]:
    """The passes that take an input program to `phase`, in order."""
    return [
        element
        for step in Phase
        if step.order <= phase.order
        for element in phase_passes(step, choice)
    ]
