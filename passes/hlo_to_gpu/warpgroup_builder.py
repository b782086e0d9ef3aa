"""Kernel text with what sm_90a adds: barriers in memory, bulk copies of tiles, warpgroup products.

LLVM has no instructions for some of these: all are inline assembly, so that none depends on what a
version of LLVM selects, and the assembler checks them. (PTX ISA, "mbarrier", "cp.async.bulk.tensor"
and "wgmma".) A warpgroup is four consecutive warps, the first a multiple of four.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo.gpu.ptx.hopper import HELD_WORDS
from hlo.passes.hlo_to_gpu.thread_builder import WARP, ThreadBuilder

DYNAMIC_SHARED = "@NAME__dynamic"  # of all functions of a kernel
WARPGROUP = 4 * WARP
BARRIER_BYTES = 8
MULTIPLY_ROWS = 64  # of the result, of one instruction
DEPTH_BYTES = 32  # of the depth that an instruction multiplies


@dataclass(frozen=True)
class WarpgroupMultiply:
    """An instruction `wgmma.mma_async.m64nNkK`.

    Attributes:
        left, right: element types in PTX.
        columns: N.
        depth: K, 32 bytes of elements.
        total: MLIR type of a sum.
        turned: of either operand whether its tile is contiguous along the side.
        held: whether the left operand is in registers, as fragments of `mma.sync` are: of 16 rows a
            warp, four i32 a thread.
    """

    left: str
    right: str
    columns: int
    depth: int
    total: str
    turned: tuple[bool, bool] = (False, False)
    held: bool = False

    @property
    def registers(self) -> int:
        """Sums of a thread."""
        return MULTIPLY_ROWS * self.columns // WARPGROUP

    def text(self) -> str:
        """The instruction on operands `$0` to `$registers - 1`, then the left factors or their
        descriptor, and the right one.
        """
        kind = "s32" if self.total == "i32" else "f32"
        count = self.registers
        sums = ", ".join(f"${i}" for i in range(count))
        # The tied sums come between: operand numbers of the descriptors follow them.
        tail = "" if kind == "s32" else ", 1, 1"
        if self.depth == 16:
            tail += "" if self.held else f", {int(self.turned[0])}"
            tail += f", {int(self.turned[1])}"
        words = [f"${2 * count + i}" for i in range(HELD_WORDS if self.held else 1)]
        left = f"{{{', '.join(words)}}}" if self.held else words[0]
        return (
            "{ .reg .pred p; setp.ne.b32 p, 1, 0; "
            f"wgmma.mma_async.sync.aligned.m64n{self.columns}k{self.depth}.{kind}.{self.left}."
            f"{self.right} {{{sums}}}, {left}, ${2 * count + len(words)}, p{tail}; }}"
        )


class WarpgroupBuilder(ThreadBuilder):
    """A `ThreadBuilder` for kernels of sm_90a."""

    # -- shared memory -----------------------------------------------------------------------------
    def dynamic_shared(self, alignment: int) -> tuple[str, str]:
        """The shared memory whose size the launch gives: its SSA name and memref type."""
        self.shared_globals.append(
            f"llvm.mlir.global external {DYNAMIC_SHARED}() {{addr_space = 3 : i32, alignment = "
            f"{alignment} : i64}} : !llvm.array<0 x i8>"
        )
        start = self.op(f"llvm.mlir.addressof {DYNAMIC_SHARED} : !llvm.ptr<3>")
        kind = "!llvm.struct<(ptr<3>, ptr<3>, i64, array<1 x i64>, array<1 x i64>)>"
        whole = self.op(f"llvm.mlir.undef : {kind}")
        zero, one = (self.constant(value, "i64") for value in (0, 1))
        for place, value in (
            ("0", start),
            ("1", start),
            ("2", zero),
            ("3, 0", zero),
            ("4, 0", one),
        ):
            whole = self.op(f"llvm.insertvalue {value}, {whole}[{place}] : {kind}")
        memref = "memref<0xi8, 3>"
        return self.op(f"builtin.unrealized_conversion_cast {whole} : {kind} to {memref}"), memref

    def moved(self, pointer: str, offset: str) -> str:
        """A pointer to shared memory, an i64 of bytes further."""
        return self.op(
            f"llvm.getelementptr {pointer}[{offset}] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8"
        )

    # -- barriers in memory ------------------------------------------------------------------------
    def barrier_init(self, barrier: str, arrivals: int) -> None:
        """Makes a barrier whose phases end after so many arrivals."""
        self.assembly(
            f"mbarrier.init.shared::cta.b64 [$0], {arrivals};", [(barrier, "!llvm.ptr<3>")]
        )

    def fence_barriers(self) -> None:
        """Makes barriers that this thread has made known to bulk copies."""
        self.assembly("fence.mbarrier_init.release.cluster;", [])

    def fence_stores(self) -> None:
        """Makes what this thread has stored in shared memory known to products of warpgroups."""
        self.assembly("fence.proxy.async.shared::cta;", [])

    def arrive(self, barrier: str) -> None:
        """Counts this thread, whose accesses to memory so far come before the phase's end."""
        self.assembly("mbarrier.arrive.shared::cta.b64 _, [$0];", [(barrier, "!llvm.ptr<3>")])

    def arrive_expecting(self, barrier: str, size: int) -> None:
        """The same, and the phase also waits for so many bytes of bulk copies."""
        self.assembly(
            f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], {size};",
            [(barrier, "!llvm.ptr<3>")],
        )

    def await_phase(self, barrier: str, parity: str) -> None:
        """Waits until the phase of a parity (an i32, 0 for the first) has ended."""
        zero = self.constant(0, "i32")
        self.effect("scf.while : () -> () {")
        (done,) = self.assembly(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2; "
            "selp.b32 $0, 1, 0, p; }",
            [(barrier, "!llvm.ptr<3>"), (parity, "i32")], ["i32"],
        )  # fmt: skip
        waiting = self.load(f"arith.cmpi eq, {done}, {zero} : i32")
        for line in (f"scf.condition({waiting})", "} do {", "scf.yield", "}"):
            self.effect(line)

    # -- copies ------------------------------------------------------------------------------------
    def prefetch_map(self, tensor_map: str) -> None:
        """Brings a tensor map near."""
        self.assembly("prefetch.tensormap [$0];", [(tensor_map, "!llvm.ptr")])

    def copy_tile(
        self, target: str, tensor_map: str, coordinates: Sequence[str], barrier: str
    ) -> None:
        """Begins to copy a tile to shared memory; its bytes count for the phase of the barrier.

        Args:
            coordinates: i32 of the first element, innermost dimension first.
        """
        rank = len(coordinates)
        places = ", ".join(f"${i + 3}" for i in range(rank))
        self.assembly(
            f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile"
            f".mbarrier::complete_tx::bytes [$0], [$1, {{{places}}}], [$2];",
            [
                (target, "!llvm.ptr<3>"),
                (tensor_map, "!llvm.ptr"),
                (barrier, "!llvm.ptr<3>"),
                *((name, "i32") for name in coordinates),
            ],
        )

    # -- products ----------------------------------------------------------------------------------
    def descriptor(self, tile: str, leading: int, stride: int) -> str:
        """An i64 that names a tile with lines of 128 bytes, swizzled by as many.

        Args:
            tile: pointer to its first byte: into a tile aligned to 1024 bytes a whole number of 32
                bytes of the depth, or of groups of 8 lines.
            leading: bytes between panels of 128 bytes of the side; 0 if lines are along the depth.
            stride: bytes between groups of 8 lines.
        """
        address = self.op(f"llvm.ptrtoint {tile} : !llvm.ptr<3> to i64")
        low = self.op(f"arith.andi {address}, {self.constant(0x3FFFF, 'i64')} : i64")
        start = self.op(f"arith.shrui {low}, {self.constant(4, 'i64')} : i64")
        rest = 1 << 62 | stride >> 4 << 32 | leading >> 4 << 16
        return self.op(f"arith.ori {start}, {self.constant(rest, 'i64')} : i64")

    def fence_sums(self) -> None:
        """Orders this warpgroup's accesses to sums before products that follow."""
        self.assembly("wgmma.fence.sync.aligned;", [])

    def multiply_tiles(
        self, how: WarpgroupMultiply, left: str | Sequence[str], right: str, sums: Sequence[str]
    ) -> list[str]:
        """Begins to add a product to sums; all of the warpgroup must run.

        Args:
            left: a descriptor, or the factors that this thread holds.
            right: a descriptor.
        """
        factors = [(left, "i64")] if isinstance(left, str) else [(word, "i32") for word in left]
        operands = [*factors, (right, "i64")]
        return self.assembly(how.text(), operands, [how.total] * how.registers, sums)

    def commit_products(self) -> None:
        """Closes a group of the products that this warpgroup has begun."""
        self.assembly("wgmma.commit_group.sync.aligned;", [])

    def await_products(self, groups: int, sums: Sequence[str] = (), kind: str = "f32") -> list[str]:
        """Waits for products but those of the last groups; gives the sums, which are then there."""
        text = f"wgmma.wait_group.sync.aligned {groups};"
        return self.assembly(text, [], [kind] * len(sums), sums)
