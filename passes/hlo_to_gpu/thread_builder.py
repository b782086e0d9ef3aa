"""Kernel text with threads: their numbers, shared memory, barriers and shuffles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlo.passes.hlo_to_loops.builder import Builder

WARP = 32
ASYNC_BYTES = 16  # of a copy from global to shared memory that goes by the first-level cache
_WORDS = {"f32", "i32"}
_LETTERS = {
    "f32": "f",
    "i32": "r",
    "i64": "l",
    "!llvm.ptr": "l",
    "!llvm.ptr<3>": "l",
}  # of operands of inline assembly


class ThreadBuilder(Builder):
    """A `Builder` for the body of a kernel that every thread of a grid runs.

    Attributes:
        block: threads of a block.
        shared_globals: definitions of the buffers in shared memory.
        shared_bytes: their size.
    """

    keeps_nans = False
    is_for_host = False

    def __init__(self, block: int) -> None:
        super().__init__()
        self.block = block
        self.shared_globals: list[str] = []
        self.shared_bytes = 0

    # -- inline assembly ---------------------------------------------------------------------------
    def assembly(
        self, text: str, operands: Sequence[tuple[str, str]], results: Sequence[str] = (),
        tied: Sequence[str] = (), *, memory: bool = True,
    ) -> list[str]:  # fmt: skip
        """Inline assembly; gives the SSA names of its results.

        Args:
            memory: whether it reads or writes memory.
            operands: (SSA name, MLIR type), numbered after the results and what is tied to them.
            results: MLIR types.
            tied: SSA names that start in the registers of the results.
        """
        constraints = [f"={_LETTERS[kind]}" for kind in results]
        constraints += [str(i) for i in range(len(tied))]
        constraints += [_LETTERS[kind] for _, kind in operands]
        names = [*tied, *(name for name, _ in operands)]
        kinds = [*results[: len(tied)], *(kind for _, kind in operands)]
        listed = ",".join([*constraints, *(["~{memory}"] if memory else [])])
        head = f'llvm.inline_asm has_side_effects asm_dialect = att "{text}", "{listed}"'
        call = f"{head} {', '.join(names)} : ({', '.join(kinds)}) -> "
        if not results:
            self.effect(call + "()")
            return []
        if len(results) == 1:
            return [self.load(call + results[0])]
        whole = f"!llvm.struct<({', '.join(results)})>"
        made = self.load(call + whole)
        return [self.op(f"llvm.extractvalue {made}[{i}] : {whole}") for i in range(len(results))]

    # -- threads -----------------------------------------------------------------------------------
    def thread(self) -> str:
        """The thread's number in its block, an i32."""
        return self.op(f"nvvm.read.ptx.sreg.tid.x range <i32, 0, {self.block}> : i32")

    def block_number(self, grid: int) -> str:
        """The block's number, an i32, for a grid of at most `grid` blocks."""
        return self.op(f"nvvm.read.ptx.sreg.ctaid.x range <i32, 0, {max(grid, 1)}> : i32")

    def as_index(self, word: str) -> str:
        """An unsigned i32 as an `index`."""
        return self.op(f"arith.index_castui {word} : i32 to index")

    def global_thread(self, threads: int) -> str:
        """The thread's number in the grid, an `index`, for a grid of `threads` threads or more."""
        grid = -(-threads // self.block)
        thread, block = self.thread(), self.block_number(grid)
        if grid * self.block < 1 << 31:
            with self.width(0):
                size = self.constant(self.block, "i32")
            start = self.op(f"arith.muli {block}, {size} overflow<nsw, nuw> : i32")
            return self.as_index(self.op(f"arith.addi {start}, {thread} overflow<nsw, nuw> : i32"))
        start = self.op(
            f"arith.muli {self.as_index(block)}, {self.index(self.block)} overflow<nsw, nuw> : "
            "index"
        )
        return self.op(f"arith.addi {start}, {self.as_index(thread)} overflow<nsw, nuw> : index")

    def both(self, first: str | None, second: str | None) -> str | None:
        """Whether two i1 hold; None is one that always does."""
        if first is None or second is None:
            return first or second
        return self.op(f"arith.andi {first}, {second} : i1")

    def perhaps(self, condition: str | None, body: Callable[[], None]) -> None:
        """The body where an i1 holds; None is one that always does."""
        if condition is None:
            body()
            return
        with self.when(condition):
            body()

    # -- shared memory -----------------------------------------------------------------------------
    def shared(self, elements: int, scalar: str) -> tuple[str, str]:
        """A new buffer in shared memory: its SSA name and memref type."""
        kind = f"memref<{elements}x{scalar}, 3>"
        name = f"@NAME__shared{len(self.shared_globals)}"
        self.shared_globals.append(
            f'memref.global "private" {name} : {kind} = uninitialized {{alignment = 16}}'
        )
        size = elements * max(int(scalar.lstrip("if")) // 8, 1)
        self.shared_bytes += -(-size // 16) * 16
        return self.op(f"memref.get_global {name} : {kind}"), kind

    def barrier(self, threads: int = 0) -> None:
        """Waits for the block, and makes its writes to memory seen by all of it.

        Args:
            threads: only for so many threads of the block, whole warps; always the same ones.
        """
        if threads in (0, self.block):
            self.effect("nvvm.barrier0")
            return
        with self.width(0):
            number, count = (self.constant(value, "i32") for value in (1, threads))
        self.effect(f"nvvm.barrier id = {number} number_of_threads = {count}")

    def warp_barrier(self) -> None:
        """Waits for the warp, and makes its accesses to memory come before later ones."""
        with self.width(0):
            self.effect(f"nvvm.bar.warp.sync {self.constant(-1, 'i32')} : i32")

    def fence_blocks(self) -> None:
        """Orders what comes before it and what comes after, for threads of other blocks too."""
        self.assembly("fence.acq_rel.gpu;", [])

    # -- pointers and asynchronous copies ----------------------------------------------------------
    def shared_pointer(self, buffer: str, memref: str, at: str, scalar: str) -> str:
        """The address of an element of a buffer in shared memory; `at` is an `index`."""
        return self._element(self._address(buffer, memref, 3), at, scalar, 3)

    def global_pointer(self, buffer: str, memref: str, at: str, scalar: str) -> str:
        """The address of an element of a buffer in global memory; `at` is an `index`."""
        generic = self._address(buffer, memref, 0)
        start = self.op(f"llvm.addrspacecast {generic} : !llvm.ptr to !llvm.ptr<1>")
        return self._element(start, at, scalar, 1)

    def _address(self, buffer: str, memref: str, space: int) -> str:
        base = self.op(f"memref.extract_aligned_pointer_as_index {buffer} : {memref} -> index")
        kind = f"!llvm.ptr<{space}>" if space else "!llvm.ptr"
        number = self.op(f"arith.index_cast {base} : index to i64")
        return self.op(f"llvm.inttoptr {number} : i64 to {kind}")

    def _element(self, start: str, at: str, scalar: str, space: int) -> str:
        offset = self.op(f"arith.index_cast {at} : index to i64")
        kind = f"!llvm.ptr<{space}>"
        return self.op(f"llvm.getelementptr {start}[{offset}] : ({kind}, i64) -> {kind}, {scalar}")

    def copy_async(self, target: str, source: str, exists: str | None) -> None:
        """Begins to copy 16 bytes from global to shared memory, zeros where not `exists`, an i1."""
        with self.width(0):
            size = self.constant(ASYNC_BYTES, "i32")
            if exists is not None:
                none = self.constant(0, "i32")
                size = self.op(f"arith.select {exists}, {size}, {none} : i32")
        self.effect(
            f"nvvm.cp.async.shared.global {target}, {source}, {ASYNC_BYTES}, cache = cg, {size} : "
            "!llvm.ptr<3>, !llvm.ptr<1>, i32"
        )

    def commit_copies(self) -> None:
        """Closes a group of the copies that this thread has begun."""
        self.effect("nvvm.cp.async.commit.group")

    def wait_for_copies(self, groups: int = 0) -> None:
        """Waits for this thread's copies but those of the last `groups` groups."""
        self.effect(f"nvvm.cp.async.wait.group {groups}")

    # -- warps -------------------------------------------------------------------------------------
    def shuffle_xor(self, name: str, scalar: str, distance: int) -> str:
        """The value of the lane whose number differs by xor `distance`; all 32 lanes must run."""
        return self._shuffled(name, scalar, "bfly", distance)

    def shuffle_up(self, name: str, scalar: str, distance: int) -> str:
        """The value of the lane `distance` below; the own one where there is none."""
        return self._shuffled(name, scalar, "up", distance)

    def _shuffled(self, name: str, scalar: str, mode: str, distance: int) -> str:
        with self.width(0):
            if scalar in _WORDS:
                return self._shuffle(name, scalar, mode, distance)
            if scalar in ("f64", "i64"):
                return self._shuffle_double(name, scalar, mode, distance)
            wide = self.op(f"arith.extui {name} : {scalar} to i32")
            moved = self._shuffle(wide, "i32", mode, distance)
            return self.op(f"arith.trunci {moved} : i32 to {scalar}")

    def _shuffle(self, name: str, scalar: str, mode: str, distance: int) -> str:
        last = 0 if mode == "up" else WARP - 1
        everyone, step, clamp = (self.constant(v, "i32") for v in (-1, distance, last))
        return self.load(
            f"nvvm.shfl.sync {mode} {everyone}, {name}, {step}, {clamp} : {scalar} -> {scalar}"
        )

    def _shuffle_double(self, name: str, scalar: str, mode: str, distance: int) -> str:
        bits = name if scalar == "i64" else self.op(f"arith.bitcast {name} : f64 to i64")
        half = self.constant(32, "i64")
        low = self.op(f"arith.trunci {bits} : i64 to i32")
        high = self.op(f"arith.trunci {self.op(f'arith.shrui {bits}, {half} : i64')} : i64 to i32")
        moved = [
            self.op(f"arith.extui {self._shuffle(part, 'i32', mode, distance)} : i32 to i64")
            for part in (low, high)
        ]
        joined = self.op(
            f"arith.ori {moved[0]}, {self.op(f'arith.shli {moved[1]}, {half} : i64')} : i64"
        )
        return joined if scalar == "i64" else self.op(f"arith.bitcast {joined} : i64 to f64")
