"""Writes the models of `data/`: exported by PyTorch 2.13, with arguments and the results that eager
mode gave. `python make_models.py [NAME...]`, with torch, onnx, onnxscript and transformers."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import transformers
from torch import nn

DATA = Path(__file__).parent / "data"
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}


class Block(nn.Module):
    """A residual block."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x: Any) -> Any:
        """The block's result."""
        inner = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(inner)) + self.skip(x))


class Call(nn.Module):
    """A model, called so that it gives one tensor."""

    def __init__(self, model: nn.Module, function: Callable[..., Any]) -> None:
        super().__init__()
        self.model = model
        self.function = function

    def forward(self, *tensors: Any) -> Any:
        """The function's result."""
        return self.function(self.model, *tensors)


def _residual() -> tuple[nn.Module, tuple[Any, ...]]:
    layers = (
        nn.Conv2d(3, 8, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Block(8, 16, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip
    return nn.Sequential(*layers), (torch.randn(2, 3, 32, 32),)


def _images() -> tuple[nn.Module, tuple[Any, ...]]:
    layers = (
        nn.Upsample(scale_factor=2, mode="bilinear"), nn.ConvTranspose2d(3, 4, 3, 2, 1, 1),
        nn.GroupNorm(2, 4), nn.SiLU(), nn.PixelShuffle(2), nn.InstanceNorm2d(1, affine=True),
        nn.Hardswish(), nn.AvgPool2d(3, 2, 1, ceil_mode=True),
    )  # fmt: skip
    return nn.Sequential(*layers), (torch.randn(1, 3, 9, 9),)


def _recurrent() -> tuple[nn.Module, tuple[Any, ...]]:
    lstm = nn.LSTM(8, 8, 2, batch_first=True, bidirectional=True)
    return Call(lstm, lambda m, x: m(x)[0]), (torch.randn(3, 7, 8),)


def _bert() -> tuple[nn.Module, tuple[Any, ...]]:
    model = transformers.BertModel(transformers.BertConfig(**SMALL, vocab_size=100))
    run = lambda m, ids, mask: m(input_ids=ids, attention_mask=mask).last_hidden_state  # noqa: E731
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, 5:] = 0
    return Call(model, run), (torch.randint(0, 100, (2, 9)), mask)


def _llama() -> tuple[nn.Module, tuple[Any, ...]]:
    config = transformers.LlamaConfig(**SMALL, num_key_value_heads=2, vocab_size=100)
    run = lambda m, ids: m(input_ids=ids, use_cache=False).logits  # noqa: E731
    return Call(transformers.LlamaForCausalLM(config), run), (torch.randint(0, 100, (2, 9)),)


MODELS = {
    "residual": (_residual, True),
    "images": (_images, True),
    "recurrent": (_recurrent, False),
    "bert": (_bert, False),
    "llama": (_llama, True),
}
"""How a model is made, and whether by PyTorch's newer exporter."""


def main() -> None:
    """Writes the models that are named, or all."""
    warnings.filterwarnings("ignore")
    DATA.mkdir(exist_ok=True)
    for name in sys.argv[1:] or MODELS:
        torch.manual_seed(0)
        make, dynamo = MODELS[name]
        model, arguments = make()
        model.eval()
        path = DATA / f"{name}.onnx"
        version = {} if dynamo else {"opset_version": 17}
        torch.onnx.export(model, arguments, str(path), dynamo=dynamo, **version)
        proto = onnx.load(path)
        for node in (*proto.graph.node, *(n for f in proto.functions for n in f.node)):
            del node.metadata_props[:]  # stack traces
            node.doc_string = ""
        del proto.graph.value_info[:]
        onnx.save_model(proto, path, save_as_external_data=False)
        path.with_suffix(".onnx.data").unlink(missing_ok=True)
        with torch.no_grad():
            result = model(*arguments).numpy()
        given = {f"argument_{i}": value.numpy() for i, value in enumerate(arguments)}
        np.savez_compressed(path.with_suffix(".npz"), result=result, **given)


if __name__ == "__main__":
    main()
