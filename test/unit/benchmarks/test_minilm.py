"""The demo's inputs: BERT token ids, and tensors from a safetensors file."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import minilm


def test_token_ids_are_those_of_bert() -> None:
    tokenizer = minilm.WordPiece(minilm.model_folder() / "vocab.txt")
    ids, mask = tokenizer.encode(["A cat, unbelievably!", "Café"])
    assert ids.shape == mask.shape == (minilm.BATCH, minilm.LENGTH)
    # [CLS] a cat , un ##bel ##ie ##va ##bly ! [SEP]
    assert ids[0, :12].tolist() == [
        101,
        1037,
        4937,
        1010,
        4895,
        8671,
        2666,
        3567,
        6321,
        999,
        102,
        0,
    ]
    assert ids[1, :4].tolist() == [101, 7668, 102, 0]
    assert mask.sum(axis=1).tolist() == [11, 3, 0, 0, 0, 0, 0, 0]


def test_parameters_are_in_the_order_of_the_program() -> None:
    parameters = minilm.parameters(minilm.model_folder())
    assert len(parameters) == 105
    assert parameters[2].shape == (512, 384)
    assert parameters[5].dtype == np.int32 and not parameters[5].any()
    assert parameters[6].shape == (30522, 384)


def test_safetensors(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    entry = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    header = json.dumps({"__metadata__": {"format": "pt"}, "w": entry}).encode()
    (tmp_path / "m.safetensors").write_bytes(
        struct.pack("<Q", len(header)) + header + values.tobytes()
    )
    (name,) = tensors = minilm.read_safetensors(tmp_path / "m.safetensors")
    assert name == "w"
    np.testing.assert_array_equal(tensors[name], values)
