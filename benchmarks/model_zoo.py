"""Models of timm and transformers, with random weights, through `hlo.from_torch`: ours beside
PyTorch in eager mode; writes docs/benchmark_model_zoo.md.

python benchmarks/model_zoo.py [PATTERN ...] [--threads=N] [--rounds=N] [--inductor]

Needs PyTorch, timm and transformers, in this environment or in that of $PEERS.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from timing import (
    geometric_mean,
    is_chosen,
    names_of,
    parser,
    threads_of,
    time_in_turn,
    torch_of,
    unpin_library,
)

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmark_model_zoo.md"
TOLERANCE = 1e-4

# Of timm, batch 1; 224 x 224 where nothing else is said.
IMAGE_MODELS = (
    *("convnext_atto", "darknet53", "deit_tiny_patch16_224", "densenet121", "dla34"),
    *("edgenext_xx_small", "efficientformerv2_s0", "efficientnet_b0", "fastvit_t8"),
    *("ghostnet_100", "hrnet_w18_small", "inception_v3", "levit_128s", "mixer_s32_224"),
    *("maxvit_rmlp_pico_rw_256", "mobilenetv3_small_100", "mobilevit_s", "poolformer_s12"),
    *("pvt_v2_b0", "regnety_004", "repvgg_a0", "res2net50_14w_8s", "resnet18", "resnet50"),
    *("resnext26ts", "swin_tiny_patch4_window7_224", "tf_mixnet_s", "vgg11"),
    *("vit_tiny_patch16_224", "xcit_nano_12_p16_224"),
)

_HEADING = """# Models of PyTorch
Written by `benchmarks/model_zoo.py`: f32, random weights, batch 1 where nothing else is said,
wall time of {threads} threads, medians of runs that alternate, each after a pause in which the
threads of the one before go to sleep; load of the machine {load:.1f}. x is the peer's time / ours.
Compile: seconds from the exported program, cold. Difference: the largest, by the largest element.

| model | ours ms | x eager |{inductor} compile s | difference |
|---|---|---|{rule}---|---|
"""


@dataclass(frozen=True)
class TextModel:
    """A model of transformers.

    Attributes:
        kind: its class.
        config: the class of its configuration, and what differs from the defaults there.
        inputs: from `torch` to the arguments.
        result: the attribute of what it returns.
    """

    kind: str
    config: str
    options: dict[str, Any]
    inputs: Callable[[Any], Any]
    result: str = "last_hidden_state"

    def make(self, torch: Any) -> tuple[Any, Any]:
        """The model, and an argument."""
        transformers: Any = import_module("transformers")
        config = getattr(transformers, self.config)(**self.options, use_cache=False)
        model = getattr(transformers, self.kind)(config).eval()
        result = self.result

        class OneResult(torch.nn.Module):
            """The model with one tensor in and one out."""

            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, x: Any) -> Any:
                return getattr(self.model(x), result)

        return OneResult(), self.inputs(torch)


def _tokens(batch: int, length: int) -> Callable[[Any], Any]:
    return lambda torch: torch.randint(0, 1000, (batch, length))


def _sizes(width: int, layers: int, heads: int, inner: int) -> dict[str, int]:
    return {
        "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads,
        "intermediate_size": inner,
    }  # fmt: skip


_LLAMA = {**_sizes(768, 6, 12, 2048), "num_key_value_heads": 4, "vocab_size": 8000}
_QWEN = {**_sizes(512, 6, 8, 1536), "num_key_value_heads": 2, "vocab_size": 8000}
_DEBERTA = {
    **_sizes(384, 4, 6, 1536), "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 256,
}  # fmt: skip

TEXT_MODELS = {
    "bert, 4 layers, 512 tokens": TextModel(
        "BertModel", "BertConfig", _sizes(512, 4, 8, 2048), _tokens(1, 512)
    ),
    "deberta-v2, 4 layers, 128 tokens": TextModel(
        "DebertaV2Model", "DebertaV2Config", _DEBERTA, _tokens(1, 128)
    ),
    "distilbert, 128 tokens": TextModel(
        "DistilBertModel", "DistilBertConfig", {}, _tokens(1, 128)
    ),
    "distilbert, batch 8, 128 tokens": TextModel(
        "DistilBertModel", "DistilBertConfig", {}, _tokens(8, 128)
    ),
    "gpt2, 6 layers, 256 tokens": TextModel(
        "GPT2LMHeadModel", "GPT2Config", {"n_layer": 6}, _tokens(1, 256), "logits"
    ),
    "llama, 6 layers, 1 token": TextModel(
        "LlamaForCausalLM", "LlamaConfig", _LLAMA, _tokens(1, 1), "logits"
    ),
    "llama, 6 layers, 256 tokens": TextModel(
        "LlamaForCausalLM", "LlamaConfig", _LLAMA, _tokens(1, 256), "logits"
    ),
    "qwen2, 6 layers, 128 tokens": TextModel(
        "Qwen2ForCausalLM", "Qwen2Config", _QWEN, _tokens(1, 128), "logits"
    ),
    "roberta, 6 layers, 64 tokens": TextModel(
        "RobertaModel", "RobertaConfig", {"num_hidden_layers": 6}, _tokens(1, 64)
    ),
    "t5 encoder, 128 tokens": TextModel("T5EncoderModel", "T5Config", {}, _tokens(1, 128)),
    "wav2vec2, 4 layers, one second": TextModel(
        "Wav2Vec2Model", "Wav2Vec2Config", {"num_hidden_layers": 4},
        lambda torch: torch.randn(1, 16000),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """The figures of a model: seconds of a run, ours first, then the peers'."""

    name: str
    seconds: Sequence[float]
    compile_seconds: float
    difference: float

    @property
    def ratios(self) -> list[float]:
        """The peers' times / ours."""
        return [peer / self.seconds[0] for peer in self.seconds[1:]]

    def __str__(self) -> str:
        ratios = " | ".join(f"{ratio:.2f}" for ratio in self.ratios)
        return (
            f"| {self.name} | {1e3 * self.seconds[0]:.3g} | {ratios} | "
            f"{self.compile_seconds:.1f} | {self.difference:.1e} |"
        )


def image_model(torch: Any, name: str) -> tuple[Any, Any]:
    """A model of timm, and an image."""
    size = 256 if name.endswith("256") else 224
    timm: Any = import_module("timm")
    model = timm.create_model(name, pretrained=False).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.any():  # results would be zero whatever comes before
                parameter.normal_(std=0.02)
    return model, torch.randn(1, 3, size, size)


def measured(torch: Any, name: str, rounds: int, inductor: bool) -> Row:
    """One model's figures.

    Raises:
        ArithmeticError: our result differs from PyTorch's.
    """
    import hlo

    torch.manual_seed(0)
    model, x = TEXT_MODELS[name].make(torch) if name in TEXT_MODELS else image_model(torch, name)
    with torch.no_grad():
        program = hlo.from_torch(model, x)
        assert program.module
        start = time.perf_counter()
        compiled = program.compile()
        compile_seconds = time.perf_counter() - start
        expected = model(x).numpy()
        largest = float(np.abs(expected).max()) or 1.0
        difference = float(np.abs(compiled(x).numpy() - expected).max()) / largest
        if not difference <= TOLERANCE:
            raise ArithmeticError(f"{name}: off by {difference:.1e}, expected {TOLERANCE:.0e}")
        runs = [lambda: compiled(x), lambda: model(x)]
        if inductor:
            optimized = torch.compile(model)
            runs.append(lambda: optimized(x))
        seconds = time_in_turn(runs, time.perf_counter, rounds)
    return Row(name, seconds, compile_seconds, difference)


def page(rows: Sequence[Row], threads: int, load: float) -> str:
    """The text of docs/benchmark_model_zoo.md."""
    peers = ["eager", "torch.compile"][: len(rows[0].seconds) - 1]
    inductor = " x torch.compile |" if len(peers) > 1 else ""
    head = _HEADING.format(
        threads=threads, load=load, inductor=inductor, rule="---|" * (len(peers) - 1)
    )
    notes: list[str] = []
    for i, peer in enumerate(peers):
        behind = [row.name for row in rows if row.ratios[i] < 1]
        mean = geometric_mean(row.ratios[i] for row in rows)
        notes.append(f"{peer}: {mean:.2f} on geometric mean, ahead of us {names_of(behind)}")
    return head + "\n".join(map(str, rows)) + f"\n\n{len(rows)} models. {'; '.join(notes)}.\n"


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--inductor", action="store_true", help="torch.compile beside us as well")
    args = options.parse_args()
    unpin_library()
    os.environ["HLO_CACHE"] = "0"
    torch = torch_of(args.threads)
    if torch is None:
        sys.exit("PyTorch is not here: PEERS=FOLDER names an environment that has it")
    warnings.filterwarnings("ignore")
    load = os.getloadavg()[0]
    names = [name for name in (*IMAGE_MODELS, *TEXT_MODELS) if is_chosen(name, args.patterns)]
    rows: list[Row] = []
    for name in names:
        rows.append(measured(torch, name, args.rounds, args.inductor))
        print(rows[-1], flush=True)
        torch._dynamo.reset()
    if not args.patterns:
        PAGE.write_text(page(rows, threads_of(args), load))
    return 0


if __name__ == "__main__":
    sys.exit(main())
