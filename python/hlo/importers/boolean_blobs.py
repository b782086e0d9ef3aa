"""Constants of booleans as hexadecimal blobs, whose form differs between versions of MLIR.

Our MLIR packs eight elements of i1 into a byte, the first in the lowest bit; later ones, jaxlib's
among them, write a byte an element. Each parser rejects the other's form. A blob says by its length
which form it has."""

from __future__ import annotations

import math
import re

import numpy as np

_TYPE = re.compile(r'"> : tensor<((?:\d+x)+)i1>')
_OPENING = 'dense<"0x'


def pack(text: str) -> str:
    """`text` with eight booleans a byte, as our MLIR reads them."""
    return _rewritten(text, packed=True)


def unpack(text: str) -> str:
    """`text` with a byte a boolean, as later versions of MLIR read them."""
    return _rewritten(text, packed=False)


def is_packed(blob: str, elements: int) -> bool:
    """Whether a blob of hexadecimal digits holds `elements` booleans at eight a byte."""
    return len(blob) == 2 * _packed_size(elements)


def _packed_size(elements: int) -> int:
    return (elements + 7) // 8


def _rewritten(text: str, *, packed: bool) -> str:
    pieces: list[str] = []
    end = 0
    for match in _TYPE.finditer(text):
        start = text.rfind(_OPENING, end, match.start())
        if start < 0:
            continue
        start += len(_OPENING)
        elements = math.prod(int(extent) for extent in match.group(1)[:-1].split("x"))
        pieces += [text[end:start], _converted(text[start : match.start()], elements, packed)]
        end = match.start()
    return "".join([*pieces, text[end:]])


def _converted(blob: str, elements: int, packed: bool) -> str:
    """The blob in the form asked for; what is malformed or a splat is left to the parser."""
    sizes = {2 * elements, 2 * _packed_size(elements)}
    if len(blob) not in sizes or len(blob) <= 2 or is_packed(blob, elements) == packed:
        return blob
    try:
        raw = np.frombuffer(bytes.fromhex(blob), np.uint8)
    except ValueError:
        return blob
    if packed:
        return np.packbits(raw != 0, bitorder="little").tobytes().hex().upper()
    return np.unpackbits(raw, count=elements, bitorder="little").tobytes().hex().upper()
