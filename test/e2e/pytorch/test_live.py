"""Models of a running PyTorch: exported, and through `torch.compile`, forward and backward.

PyTorch is no dependency of the tests: without it, `test_archives.py` alone holds the importer.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hlo

torch = pytest.importorskip("torch")

from hlo.pytorch.dynamo import backend  # noqa: E402

F = torch.nn.functional


class Block(torch.nn.Module):
    """A layer of a transformer."""

    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.project = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.feed = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x: Any) -> Any:
        """Causal attention and a feed-forward network."""
        batch, length, width = x.shape
        parts = self.project(self.before(x)).split(width, -1)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed(self.after(x))


class Network(torch.nn.Module):
    """A small convolutional network."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 16, 3, stride=2, groups=2)
        self.out = torch.nn.Linear(16, 10)

    def forward(self, x: Any) -> Any:
        """Scores of ten classes."""
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        x = F.avg_pool2d(self.second(x), 2, 1)
        return self.out(F.adaptive_avg_pool2d(x, 1).flatten(1))


class SharedKeys(torch.nn.Module):
    """Attention of four heads of queries and two of keys."""

    def __init__(self) -> None:
        super().__init__()
        self.queries, self.keys = torch.nn.Linear(32, 32), torch.nn.Linear(32, 16)
        self.values = torch.nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        """Causal attention."""
        parts = (self.queries(x), self.keys(x), self.values(x))
        q, k, v = (p.view(*x.shape[:2], -1, 8).transpose(1, 2) for p in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return seen.transpose(1, 2).flatten(2)


class Language(torch.nn.Module):
    """An embedding, a layer and scores of the next token."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.block = torch.nn.Embedding(50, 64, padding_idx=0), Block()
        self.out = torch.nn.Linear(64, 50)

    def forward(self, tokens: Any) -> Any:
        """Scores."""
        return self.out(self.block(self.table(tokens)))


def test_a_module_is_exported_and_compiled() -> None:
    torch.manual_seed(0)
    model, x = Block().eval(), torch.randn(2, 16, 64)
    program = hlo.from_torch(model, x)
    compiled = program.compile()
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x), rtol=2e-5, atol=2e-5)
    assert isinstance(compiled(x.numpy()), np.ndarray)
    assert 'kind = "attention"' in compiled.executable.as_text("fused")


def test_recurrent_layers_are_decomposed() -> None:
    torch.manual_seed(0)
    model, x = torch.nn.LSTM(8, 16, 2, batch_first=True).eval(), torch.randn(2, 5, 8)
    with torch.no_grad():
        expected, (h, c) = model(x)
    for ours, theirs in zip(hlo.from_torch(model, x).compile()(x), (expected, h, c), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-5)


def test_bfloat16_passes_through() -> None:
    x = torch.randn(4, 8).bfloat16()
    compiled = hlo.from_torch(torch.nn.SiLU(), x).compile()
    assert compiled(x).dtype == torch.bfloat16
    torch.testing.assert_close(compiled(x), F.silu(x))


def test_dynamic_shapes_are_compiled_for_examples() -> None:
    exported = torch.export.export(
        torch.nn.Softmax(-1),
        (torch.ones(4, 6),),
        dynamic_shapes=({0: torch.export.Dim("rows", min=2)},),
    )
    with pytest.raises(hlo.UnsupportedError, match="give example tensors"):
        hlo.from_torch(exported)
    x = torch.randn(9, 6)
    torch.testing.assert_close(hlo.from_torch(exported, x).compile()(x), x.softmax(-1))


class Mixed(torch.nn.Module):
    """Tensors in containers and by name."""

    def forward(self, tree: Any, scale: Any) -> Any:
        """Neither argument is like another."""
        return (tree["z"] - tree["a"][0]) * scale


def test_arguments_keep_their_places_from_call_to_call() -> None:
    x, y, s = torch.arange(4.0), torch.ones(4) * 3, torch.tensor(2.0)
    compiled = hlo.from_torch(Mixed(), {"z": x, "a": [y]}, s).compile()
    for _ in range(2):
        for a, b in ((x, x), (x, y), (y, x)):
            assert torch.equal(compiled({"z": a, "a": [b]}, s), (a - b) * s)
            assert torch.equal(compiled({"z": a, "a": [b]}, scale=s), (a - b) * s)
        with pytest.raises(hlo.ArgumentError, match=r"expected float32\[4\]"):
            compiled({"z": x[:3], "a": [y]}, s)
        with pytest.raises(hlo.ArgumentError, match="expected an argument scale"):
            compiled({"z": x, "a": [y]})


def test_arguments_may_require_gradients_and_lie_anywhere() -> None:
    compiled = hlo.from_torch(torch.nn.Softmax(-1), torch.ones(4, 6)).compile()
    x = torch.randn(6, 4, requires_grad=True)
    for given in (x.t(), x.detach().t(), torch.randn(4, 12)[:, ::2], x.t()):
        for argument in (given, given.detach().numpy()):
            np.testing.assert_allclose(
                np.asarray(compiled(argument)), given.detach().softmax(-1), rtol=1e-6
            )


def test_state_may_be_replaced_between_calls() -> None:
    model = torch.nn.Linear(3, 2).eval()
    compiled = hlo.from_torch(model, torch.ones(1, 3)).compile()
    x = torch.randn(1, 3)
    compiled(x), compiled(x)
    compiled.state["bias"] = np.full(2, 7, np.float32)
    expected = x @ model.weight.detach().t() + 7
    torch.testing.assert_close(compiled(x), expected, rtol=1e-6, atol=1e-6)


def trained(make: Callable[[], Any], x: Any, loss: Callable[[Any], Any], compiled: bool) -> Any:
    """Losses, parameters and buffers of three steps."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    model = make().train()
    function = torch.compile(model, backend=backend) if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses: list[float] = []
    for _ in range(3):
        optimizer.zero_grad()
        value = loss(function(x))
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses, list(model.state_dict().values())


@pytest.mark.parametrize("name", ["convolutions", "attention", "shared keys", "embedding"])
def test_training_steps_are_those_of_eager_mode(name: str) -> None:
    torch.manual_seed(1)
    classes, tokens = torch.randint(0, 10, (4,)), torch.randint(0, 50, (2, 16))
    cases: dict[str, Any] = {
        "convolutions": (Network, torch.randn(4, 3, 16, 16), lambda y: F.cross_entropy(y, classes)),
        "attention": (Block, torch.randn(2, 32, 64), lambda y: (y**2).mean()),
        "shared keys": (SharedKeys, torch.randn(2, 16, 32), lambda y: (y**2).mean()),
        "embedding": (
            Language,
            tokens,
            lambda y: F.cross_entropy(y.view(-1, 50), tokens.view(-1)),
        ),
    }
    (losses, state), (expected, held) = (
        trained(*cases[name], compiled) for compiled in (True, False)
    )
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for ours, theirs in zip(state, held, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def _bags(x: Any, **options: Any) -> Any:
    return F.embedding_bag(torch.tensor([0, 2, 2, 1, 4]), x, torch.tensor([0, 3]), **options)


GRADIENTS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "resized": ((1, 2, 4, 3), lambda x: F.interpolate(x, scale_factor=2)),
    "smoothed": ((1, 2, 4, 5), lambda x: F.interpolate(x, (3, 7), mode="bilinear", antialias=True)),
    "padded": ((1, 2, 4, 3), lambda x: F.pad(x, (1, 2, 0, 1), "replicate")),
    "pooled": ((1, 2, 5, 6), lambda x: F.adaptive_max_pool2d(x, (2, 3))),
    "strided": ((3, 4), lambda x: x.as_strided((2, 3), (4, 1), 2)),
    "masked": ((3, 4), lambda x: torch.zeros(3, 4).masked_scatter(x > 0, x * 2)),
    "distances": ((5, 3), lambda x: torch.cdist(x, x.flip(0) * 2)),
    "summed bags": ((5, 3), lambda x: _bags(x, mode="sum")),
    "largest of bags": ((5, 3), lambda x: _bags(x, mode="max")),
    "factors": ((3, 3), lambda x: torch.linalg.cholesky(x @ x.mT + torch.eye(3))),
    "inverses": ((3, 3), lambda x: torch.linalg.inv(x @ x.mT + torch.eye(3))),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_that_pytorch_leaves_whole(name: str) -> None:
    shape, function = GRADIENTS[name]
    torch._dynamo.reset()
    start = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    ours, theirs = (start.clone().requires_grad_() for _ in range(2))
    for x, each in (
        (ours, torch.compile(function, backend=backend, fullgraph=True)),
        (theirs, function),
    ):
        each(x).square().sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=2e-5, atol=1e-5)


def test_weights_of_given_norm_are_trained() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(4, 6, 3))
    x, found = torch.randn(2, 4, 9), []
    for function in (torch.compile(model, backend=backend), model):
        model.zero_grad()
        function(x).square().sum().backward()
        found.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(*found, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["Mixtral", "Qwen2Moe"])
def test_tokens_go_to_their_experts(name: str) -> None:
    """Models of the package transformers: exported, and gradients through `torch.compile`."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    torch._dynamo.reset()
    experts = {
        "Mixtral": {"num_local_experts": 4},
        "Qwen2Moe": {"num_experts": 8, "moe_intermediate_size": 24, "num_experts_per_tok": 2},
    }
    config = getattr(transformers, f"{name}Config")(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, use_cache=False, **experts[name],
    )  # fmt: skip
    model = getattr(transformers, f"{name}ForCausalLM")(config).eval()
    tokens = torch.randint(0, 50, (2, 12))

    class Scores(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Any) -> Any:
            return self.model(x).logits

    def gradients(function: Any) -> dict[str, Any]:
        model.zero_grad()
        function(tokens).square().mean().backward()
        return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}

    with torch.no_grad():
        expected = Scores()(tokens)
    found = hlo.from_torch(Scores(), tokens).compile()(tokens)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    ours, theirs = gradients(torch.compile(Scores(), backend=backend)), gradients(Scores())
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        torch.testing.assert_close(ours[key], value, rtol=1e-4, atol=1e-6)


def test_each_shape_is_compiled_once() -> None:
    function = torch.compile(lambda a, b: (a @ b).relu().sum(-1), backend=backend)
    b = torch.randn(8, 8)
    for rows in (3, 4, 5, 4):
        a = torch.randn(rows, 8)
        torch.testing.assert_close(function(a, b), (a @ b).relu().sum(-1), rtol=1e-5, atol=1e-5)


def test_parameters_that_move_are_read_where_they_are() -> None:
    model = torch.nn.Linear(4, 4)
    function = torch.compile(model, backend=backend)
    x = torch.randn(2, 4)
    with torch.no_grad():
        for change in range(4):
            torch.testing.assert_close(function(x), model(x), rtol=1e-5, atol=1e-6)
            if change == 0:
                model.weight.data = torch.randn(4, 4)
            elif change == 1:
                model.weight.data = model.weight.data.t()
            else:
                model.weight.mul_(2.0)


def test_no_argument_is_kept() -> None:
    """A graph knows shapes and dtypes of what it was compiled for, not the tensors."""
    function = torch.compile(lambda x: x * 2, backend=backend)
    compiled = hlo.from_torch(torch.nn.Softmax(-1), torch.ones(4, 6)).compile()
    for call in (function, compiled):
        x = torch.randn(4, 6)
        kept = weakref.ref(x)
        call(x), call(x)
        del x
        gc.collect()
        assert kept() is None


def test_lazily_negated_and_conjugated_tensors() -> None:
    function = torch.compile(lambda x, y: x * y, backend=backend)
    x = torch.tensor([1 + 2j, 3 - 1j])
    for a, b in ((x, x), (x.conj(), x), (x.conj().imag, x.real)):
        assert torch.equal(function(a, b), a * b)


def test_tensors_made_while_tracing_are_constants() -> None:
    """In attention masks and scales of models: `torch.tensor(8.0)`."""

    def function(x: Any) -> Any:
        return torch.where(x > 0, x * torch.tensor(8.0), torch.tensor(-3.0))

    x = torch.randn(4)
    with torch.no_grad():
        assert torch.equal(torch.compile(function, backend=backend)(x), function(x))


def test_dropout_draws_anew_on_each_call() -> None:
    hlo.seed_rng(0)
    function = torch.compile(lambda x: F.dropout(x, 0.5, training=True), backend=backend)
    x = torch.ones(10_000)
    first, second = function(x), function(x)
    assert not torch.equal(first, second)
    assert set(first.unique().tolist()) == {0.0, 2.0}
    assert abs(first.mean().item() - 1) < 0.05
