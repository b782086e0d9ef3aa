"""The benchmark models that have a counterpart in PyTorch, of the same shapes, with random weights.

Written as a PyTorch user would for inference on a CPU: scaled_dot_product_attention, channels-last
convolutions, batch normalisation in evaluation mode, one `Adam` step with its fused kernel.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

Step = Callable[[], object]


class Attention(nn.Module):
    """Self-attention of 64 elements a head."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        q, k, v = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.output(y.transpose(1, 2).flatten(2))

    def decode(self, x: Tensor, cache: Tensor, position: int, mask: Tensor) -> Tensor:
        cache[0, :, :, position] = self.split(self.key(x))[:, :, 0]
        cache[1, :, :, position] = self.split(self.value(x))[:, :, 0]
        q = self.split(self.query(x))
        y = functional.scaled_dot_product_attention(q, cache[0], cache[1], attn_mask=mask)
        return self.output(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A transformer layer, normalised before or after its two halves."""

    def __init__(self, width: int, heads: int, inner: int, first: bool, gelu: str) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.first, self.gelu = first, gelu

    def feed_forward(self, x: Tensor) -> Tensor:
        return self.down(functional.gelu(self.up(x), approximate=self.gelu))

    def forward(self, x: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        if self.first:
            x = x + self.attention(self.norm1(x), mask, causal)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attention(x, mask, causal))
        return self.norm2(x + self.feed_forward(x))


class Bert(nn.Module):
    def __init__(self, layers: int, width: int, pooler: bool) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(30522, width), nn.Embedding(512, width)
        self.segments, self.norm = nn.Embedding(2, width), nn.LayerNorm(width)
        self.layers = nn.ModuleList(
            Layer(width, 12, 4 * width, False, "none") for _ in range(layers)
        )
        self.pooler = nn.Linear(width, width) if pooler else None

    def forward(self, ids: Tensor, segments: Tensor, padding: Tensor) -> object:
        at = torch.arange(ids.shape[1])
        x = self.norm(self.tokens(ids) + self.positions(at) + self.segments(segments))
        mask = padding[:, None, None, :].bool()
        for layer in self.layers:
            x = layer(x, mask)
        if self.pooler is not None:
            return x, torch.tanh(self.pooler(x[:, 0]))
        weights = padding[..., None].to(x.dtype)
        return functional.normalize((x * weights).sum(1) / weights.sum(1).clamp(min=1e-9))


class Gpt2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
        self.layers = nn.ModuleList(Layer(768, 12, 3072, True, "tanh") for _ in range(12))
        self.norm = nn.LayerNorm(768)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x, causal=True)
        return self.norm(x) @ self.tokens.weight.T

    def decode(self, ids: Tensor, caches: Tensor, position: int) -> Tensor:
        mask = (torch.arange(caches.shape[-2]) <= position)[None, None, None, :]
        x = self.tokens(ids) + self.positions(torch.tensor([position]))
        for layer, cache in zip(self.layers, caches, strict=True):
            x = x + layer.attention.decode(layer.norm1(x), cache, position, mask)
            x = x + layer.feed_forward(layer.norm2(x))
        return self.norm(x) @ self.tokens.weight.T


class Vit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 768, 16, 16)
        self.start, self.positions = (nn.Parameter(torch.randn(1, n, 768) * 0.02) for n in (1, 197))
        self.layers = nn.ModuleList(Layer(768, 12, 3072, True, "none") for _ in range(12))
        self.norm = nn.LayerNorm(768)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.start, x], 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def convolution(
    inputs: int,
    outputs: int,
    size: int,
    stride: int = 1,
    groups: int = 1,
    act: nn.Module | None = None,
) -> nn.Sequential:
    layers: list[nn.Module] = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([act] if act else []))


class Squeeze(nn.Module):
    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, squeezed, 1), nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(self.up(functional.silu(self.down(x.mean((2, 3), keepdim=True)))))


class InvertedResidual(nn.Module):
    """Of MobileNetV2 and, with `squeeze`, of EfficientNet."""

    def __init__(
        self, inputs: int, outputs: int, expand: int, size: int, stride: int, act: nn.Module,
        squeeze: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        inner = inputs * expand
        layers: list[nn.Module] = []
        if expand != 1:
            layers.append(convolution(inputs, inner, 1, act=act))
        layers.append(convolution(inner, inner, size, stride, inner, act))
        if squeeze:
            layers.append(Squeeze(inner, max(1, inputs // 4)))
        layers.append(convolution(inner, outputs, 1))
        self.layers = nn.Sequential(*layers)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        return x + y if self.adds else y


def classifier(*layers: nn.Module, channels: int) -> nn.Sequential:
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000), nn.Softmax(-1)
    )


def mobile(
    blocks: list[tuple[int, int, int, int, int]], act: nn.Module, squeeze: bool
) -> nn.Sequential:
    """(expansion, channels, repetitions, stride, size) of each stage."""
    layers: list[nn.Module] = [convolution(3, 32, 3, 2, act=act)]
    channels = 32
    for expand, outputs, repeats, stride, size in blocks:
        for i in range(repeats):
            step = stride if i == 0 else 1
            layers.append(InvertedResidual(channels, outputs, expand, size, step, act, squeeze))
            channels = outputs
    layers.append(convolution(channels, 1280, 1, act=act))
    return classifier(*layers, channels=1280)


def mobilenetv2() -> nn.Sequential:
    stages = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3),
              (6, 96, 3, 1, 3), (6, 160, 3, 2, 3), (6, 320, 1, 1, 3)]  # fmt: skip
    return mobile(stages, nn.ReLU6(), False)


def efficientnetb0() -> nn.Sequential:
    stages = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
              (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]  # fmt: skip
    return mobile(stages, nn.SiLU(), True)


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, inner: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * inner
        self.layers = nn.Sequential(
            convolution(inputs, inner, 1, stride, act=nn.ReLU()),
            convolution(inner, inner, 3, act=nn.ReLU()),
            convolution(inner, outputs, 1),
        )
        same = inputs == outputs
        self.shortcut = nn.Identity() if same else convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.shortcut(x) + self.layers(x))


def resnet50() -> nn.Sequential:
    layers: list[nn.Module] = [convolution(3, 64, 7, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for inner, repeats, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(repeats):
            layers.append(Bottleneck(channels, inner, stride if i == 0 else 1))
            channels = 4 * inner
    return classifier(*layers, channels=2048)


def image_step(model: nn.Module, compiled: bool) -> Step:
    model = model.eval().to(memory_format=torch.channels_last)
    image = torch.rand(1, 3, 224, 224).to(memory_format=torch.channels_last)
    return inference(model, compiled, image)


def inference(model: Callable[..., object], compiled: bool, *inputs: object) -> Step:
    function = torch.compile(model) if compiled else model

    def step() -> object:
        with torch.inference_mode():
            return function(*inputs)

    return step


def attention_step(compiled: bool) -> Step:
    q, k, v = (torch.randn(1, 1024, 12, 64) for _ in range(3))

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        heads = (x.transpose(1, 2) for x in (q, k, v))
        return (
            functional.scaled_dot_product_attention(*heads, is_causal=True)
            .transpose(1, 2)
            .contiguous()
        )

    return inference(attention, compiled, q, k, v)


def bert_step(
    layers: int, width: int, batch: int, length: int, pooler: bool, compiled: bool
) -> Step:
    ids = torch.randint(0, 30522, (batch, length))
    padding = torch.ones(batch, length, dtype=torch.int32)
    padding[:, length * 3 // 4 :] = 0
    return inference(
        Bert(layers, width, pooler).eval(), compiled, ids, torch.zeros_like(ids), padding
    )


def decode_step(compiled: bool) -> Step:
    model = Gpt2().eval()
    caches = torch.zeros(12, 2, 1, 12, 1024, 64)
    return inference(model.decode, compiled, torch.randint(0, 50257, (1, 1)), caches, 512)


def mlp_train_step(compiled: bool) -> Step:
    sizes = (784, 1024, 1024, 1024)
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(1024, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    x, y = torch.rand(256, 784), torch.randint(0, 10, (256,))

    def loss_of(x: Tensor, y: Tensor) -> Tensor:
        return functional.cross_entropy(model(x), y)

    function = torch.compile(loss_of) if compiled else loss_of

    def step() -> object:
        optimizer.zero_grad(set_to_none=True)
        loss = function(x, y)
        loss.backward()
        optimizer.step()
        return loss

    return step


MODELS: dict[str, Callable[[bool], Step]] = {
    "attention": attention_step,
    "bert_base": lambda compiled: bert_step(12, 768, 1, 128, True, compiled),
    "efficientnetb0": lambda compiled: image_step(efficientnetb0(), compiled),
    "gpt2_decode": decode_step,
    "gpt2_prefill": lambda compiled: inference(
        Gpt2().eval(), compiled, torch.randint(0, 50257, (1, 128))
    ),
    "minilm": lambda compiled: bert_step(6, 384, 8, 64, False, compiled),
    "mlp_train": mlp_train_step,
    "mobilenetv2": lambda compiled: image_step(mobilenetv2(), compiled),
    "resnet50": lambda compiled: image_step(resnet50(), compiled),
    "vit_b16": lambda compiled: inference(Vit().eval(), compiled, torch.rand(1, 3, 224, 224)),
}
"""From the name of a program to what makes its step; the argument is whether to `torch.compile`."""
