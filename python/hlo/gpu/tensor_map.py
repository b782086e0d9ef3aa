"""Tensor maps: how bulk copies of sm_90 find tiles of a buffer (CUDA's `CUtensorMap`).

A kernel takes each map as 128 bytes by value. The driver writes them for a GPU; the emulated
devices have a layout of their own, `packed`, which runtime/emulator/tensor_map.h reads.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAP_BYTES = 128
MAP_ALIGNMENT = 64
SWIZZLE_BYTES = 128  # of a line of a tile: 16-byte pieces are permuted within it
MOST_DIMENSIONS = 5
LARGEST_BOX = 256  # elements along a dimension
# By MLIR's names, but tf32: f32 in memory that is rounded when it is copied. 8-bit floats are u8.
ELEMENT_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "u8": 1}
_CODES = {name: code for code, name in enumerate(ELEMENT_BYTES)}
_MAGIC = 0x54
_LAYOUT = struct.Struct("<Q5Q4Q5HBBB")


@dataclass(frozen=True)
class TensorMap:
    """Tiles of one of a kernel's buffers, swizzled by 128 bytes; what is past its ends is zero.

    Attributes:
        argument: position among the kernel's buffers.
        element: a key of `ELEMENT_BYTES`.
        sizes: elements of each dimension, the innermost (contiguous) one first.
        strides: bytes from an element to the next of each dimension but the innermost; multiples of
            16.
        box: elements of a tile along each dimension; the innermost are 128 bytes.
    """

    argument: int
    element: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]

    @property
    def box_bytes(self) -> int:
        """Bytes that a copy brings."""
        total = ELEMENT_BYTES[self.element]
        for size in self.box:
            total *= size
        return total

    def packed(self, address: int) -> bytes:
        """The map of a buffer at an address, for the emulated devices."""
        rank = len(self.sizes)
        sizes, strides, box = (
            (*values, *([0] * (length - len(values))))
            for values, length in ((self.sizes, 5), (self.strides, 4), (self.box, 5))
        )
        data = _LAYOUT.pack(
            address, *sizes, *strides, *box, _CODES[self.element], rank, _MAGIC
        )  # fmt: skip
        return data.ljust(MAP_BYTES, b"\0")
