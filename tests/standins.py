"""What the functions of a block are called with: values that fit, found by trying them.

A block of a page or a case mostly defines functions and classes, and calls none. What it says of
them can be run all the same, with a value for each parameter that lets the call end on the plain
CPU. Types and names only say what is tried first.
"""

from __future__ import annotations

import ast
import heapq
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass(frozen=True)
class Scene:
    """Where a program runs. What it is given is on `device`, but tensors where `tensors` says, and
    data sets on the host."""

    device: torch.device
    tensors: torch.device
    seed: int = 0

    def rand(self, *shape: int) -> torch.Tensor:
        return self.host(*shape).to(self.tensors)

    def ids(self, *shape: int) -> torch.Tensor:
        return (self.host(*shape) * 2).long().to(self.tensors)

    def host(self, *shape: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self.seed)
        return torch.rand(shape, generator=generator, device="cpu")

    def module(self, module: Callable[[], nn.Module]) -> nn.Module:
        seed(self.seed)
        return module().to(self.device)


def seed(number: int) -> None:
    """Seed the generator that every device draws with where there is no other: a hundred times as
    quick as `torch.manual_seed`, which notes who has called it for each kind of device."""
    torch.default_generator.manual_seed(number)


Make = Callable[[Scene], Any]


@dataclass(frozen=True)
class Slot:
    """A parameter that needs a value."""

    name: str
    annotation: str = ""
    optional: bool = False

    @property
    def seed(self) -> int:
        return zlib.crc32(self.name.encode())


_KINDS: dict[str, tuple[str, str]] = {  # how its type says it, how its name does
    "device": (r"device", r".*device|gpu|place"),
    "criterion": (r"", r".*(criterion|loss_fn|loss|score)"),
    "module": (r"Module|Linear", r".*(model|net|module|encoder|backbone|layer|critic)"),
    "loader": (r"DataLoader|Iterable", r".*(loader|batches)"),
    "dataset": (r"Dataset", r".*(data|dataset|samples)"),
    "number": (r"int|float", r"n|k|i|.*(size|count|step|rank|width|depth|classes|number)"),
    "file": (r"Path|PathLike", r".*(path|file|checkpoint|folder|root)"),
    "options": (r"Namespace|\w*Config", r"args|opt.*|conf.*|cfg|hparams"),
    "flag": (r"bool", r"(is|use)_.*|train|flag|ready|causal"),
    "tensor": (r"Tensor|LongTensor", r""),
    "array": (r"ndarray", r"raw|.*(array|arrays|states)"),
    "list": (r"list|tuple|Sequence|List|Tuple", r"sizes|shape|lengths|words|parts"),
    "text": (r"str", r"name|text|mode|kind|prompt|task|key"),
}


def sizes_of(source: str) -> list[int]:
    """The lengths that a program most often speaks of."""
    numbers = Counter(
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and type(node.value) is int and 1 < node.value <= 64
    )
    return [number for number, _ in numbers.most_common(3)] or [4]


def absent(scene: Scene) -> Any:
    """Stands for no value, where a parameter has its own."""
    return ABSENT


ABSENT = object()


def candidates(slot: Slot, sizes: Sequence[int]) -> list[Make]:
    """What to try for a parameter, in this order."""
    groups = _groups(sizes)
    named = [kind for kind, (_, name) in _KINDS.items() if re.fullmatch(name, slot.name)]
    if slot.optional:
        return [*groups["device"], absent] if "device" in named else [absent]
    typed = [kind for kind, (type_, _) in _KINDS.items() if _is_typed(type_, slot.annotation)]
    order = typed or dict.fromkeys([*named, "tensor", *_KINDS])
    return [make for kind in order for make in groups[kind]]


def _is_typed(pattern: str, annotation: str) -> bool:
    return bool(pattern) and re.search(rf"\b({pattern})\b", annotation) is not None


def _groups(sizes: Sequence[int]) -> dict[str, list[Make]]:
    n, dtypes = sizes[0], (torch.float64, torch.float32)  # the first where a program casts it
    squares = [shape for m in sizes for shape in ((m, m), (m,))]
    shapes = [*squares, *((2, m) for m in sizes), (2, 3, 8, 8), (2, 3, n), (1, n, n), ()]
    return {
        "device": [lambda scene: scene.device],
        "criterion": [lambda scene: scene.module(nn.CrossEntropyLoss)],
        "module": [_linear(m) for m in sizes],
        "loader": [_loader(m, dtype) for dtype in dtypes for m in sizes],
        "dataset": [_dataset(m, dtype) for dtype in dtypes for m in sizes],
        "number": [_value(2), _value(n), _value(0.5), _value(1), _value(0)],
        "file": [lambda scene: FILE],
        "options": [_options(n)],
        "flag": [_value(True), _value(False)],
        "tensor": [_tensor("rand", shape) for shape in shapes]
        + [_tensor("ids", shape) for shape in [(n,), (n, n), (2,)]]
        + [lambda scene: scene.rand(n) > 0.5],
        "array": [_array(n, n), _array(n), _array(2, n)],
        "list": [_value([2, 2]), _value([0.5] * n), _value([[0.5] * n] * n), _tensors(n)],
        "text": [_value("mean"), _value("cpu")],
    }


FILE = "model.pt"
"""A file of weights that were saved on a GPU, in the folder where programs run."""


def _value(value: Any) -> Make:
    return lambda scene: value


def _tensor(how: str, shape: tuple[int, ...]) -> Make:
    return lambda scene: getattr(scene, how)(*shape)


def _tensors(n: int) -> Make:
    return lambda scene: [scene.rand(n), scene.rand(n)]


def _linear(n: int) -> Make:
    return lambda scene: scene.module(lambda: nn.Linear(n, n))


def _array(*shape: int) -> Make:
    return lambda scene: np.random.default_rng(scene.seed).random(shape)


def _dataset(n: int, dtype: torch.dtype) -> Make:
    return lambda scene: TensorDataset(scene.host(4, n).to(dtype), scene.host(4, n))


def _loader(n: int, dtype: torch.dtype) -> Make:
    return lambda scene: DataLoader(_dataset(n, dtype)(scene), batch_size=2)


def _options(n: int) -> Make:
    def make(scene: Scene) -> Any:
        on = scene.device.type != "cpu"
        return SimpleNamespace(
            device=scene.device, cuda=on, use_cuda=on, no_cuda=not on, gpu=0, size=n
        )

    return make


def choices(options: Sequence[Sequence[Make]], most: int) -> Iterator[tuple[Make, ...]]:
    """Tuples of one option each: those first that come first in all."""
    if not all(options):
        return
    start = (0,) * len(options)
    queue, seen = [(0, start)], {start}
    for _ in range(most):
        if not queue:
            return
        rank, indices = heapq.heappop(queue)
        yield tuple(each[index] for each, index in zip(options, indices, strict=True))
        for position, index in enumerate(indices):
            following = (*indices[:position], index + 1, *indices[position + 1 :])
            if index + 1 < len(options[position]) and following not in seen:
                seen.add(following)
                heapq.heappush(queue, (rank + 1, following))
