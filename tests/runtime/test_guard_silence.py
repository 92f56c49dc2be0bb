"""The guard changes no result and raises no false alarm, whatever people make of modules.

Each case runs without a guard, under a strict one and under a tracing one, and has to come to the
same values, bit for bit. What a guard must find in the same surroundings is below the cases.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import gc
import io
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections import UserDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrizations, prune, rnn
from torch.nn.utils import parametrize as parametrize_room

from devlint import DeviceMismatchError, emulate, guard
from devlint.runtime.guard import Guard, structure

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytestmark = pytest.mark.filterwarnings("ignore")

PLAIN = nn.Module._call_impl

Case = Callable[[], Any]


class Table(dict[str, Case]):
    """Cases by name."""

    def __call__(self, case: Case) -> Case:
        self[case.__name__] = case
        return case


ON_CPU, ON_CUDA = Table(), Table()


@pytest.fixture(autouse=True)
def torch_is_left_as_it_was() -> Iterator[None]:
    yield
    assert nn.Module._call_impl is PLAIN
    assert not nn.modules.module._global_forward_pre_hooks
    dynamo = sys.modules.get("torch._dynamo.utils")  # older ones don't know the function
    assert getattr(dynamo, "unpatched_nn_module_call_impl", PLAIN) is PLAIN
    assert torch._C._len_torch_function_stack() == 0


def seeded(case: Case) -> Any:
    torch.manual_seed(0)
    return detached(case())


def detached(value: Any) -> Any:
    """A value with plain copies of its tensors, and where they were."""
    if isinstance(value, Tensor):
        device = str(value.device)
        if type(value) not in (Tensor, nn.Parameter) or value.is_sparse or value.is_nested:
            return str(value)
        if value.is_meta:
            return device, tuple(value.shape)
        return device, value.dtype, value.detach().cpu().clone()
    if isinstance(value, dict):
        return {key: detached(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [detached(each) for each in value]
    return value


def same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        return bool(torch.equal(one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def check(case: Case) -> None:
    plain = seeded(case)
    assert plain is not None
    for mode in ("strict", "trace"):
        with guard(mode=mode):
            watched = seeded(case)
        assert same(plain, watched), mode


def grads(model: nn.Module) -> dict[str, Any]:
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def stepped(model: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """The output of a call and the gradients of what is trained."""
    out = model(*args, **kwargs)
    first = out[0] if isinstance(out, tuple) else out
    first.sum().backward()
    return out, grads(model)


# --- what may be on another device


@ON_CUDA
def scalars_of_the_host() -> Any:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.by = torch.tensor(2.0)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x) * self.by + torch.tensor(1.0)

    norm = nn.BatchNorm1d(4).cuda()
    norm.num_batches_tracked = torch.tensor(3)
    return stepped(Scaled().cuda(), torch.randn(2, 4, device="cuda")), norm(
        torch.randn(3, 4, device="cuda")
    )


@ON_CUDA
def indices_of_the_host() -> Any:
    class Picks(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.randn(5, 4))
            self.order = torch.tensor([3, 1])

        def forward(self, index: Tensor) -> Tensor:
            return self.table[index][:, self.order]

    return stepped(Picks().cuda(), torch.tensor([0, 2]))


@ON_CUDA
def lengths_of_the_host() -> Any:
    class Packs(nn.Module):
        def __init__(self, kind: type) -> None:
            super().__init__()
            self.layer = kind(4, 3, batch_first=True)

        def forward(self, x: Tensor, lengths: Tensor) -> Any:
            packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            out, state = self.layer(packed)
            return rnn.pad_packed_sequence(out, batch_first=True)[0], state

    x, lengths = torch.randn(2, 5, 4, device="cuda"), torch.tensor([3, 5])
    return [stepped(Packs(kind).cuda(), x, lengths) for kind in (nn.LSTM, nn.GRU, nn.RNN)]


@ON_CUDA
def lengths_of_a_loss() -> Any:
    scores = torch.randn(6, 2, 4, device="cuda", requires_grad=True)
    targets = torch.randint(1, 4, (2, 3), device="cuda")
    lengths = torch.tensor([6, 5]), torch.tensor([3, 2])
    return nn.CTCLoss()(scores.log_softmax(2), targets, *lengths)


@ON_CUDA
def a_causal_mask_that_is_not_used() -> Any:
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    x = torch.randn(2, 3, 8, device="cuda")
    attention = nn.MultiheadAttention(8, 2, batch_first=True).cuda()
    block = nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True).cuda()
    encoder = nn.TransformerEncoder(block, 1)
    return (
        attention(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)[0],
        encoder(x, mask=mask, is_causal=True),
    )


@ON_CUDA
def modules_that_move_their_inputs() -> Any:
    class Moves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x.to(self.layer.weight.device))

    class MovingLinear(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x.to(self.weight.device))

    class MovingCall(nn.Linear):
        def __call__(self, x: Tensor) -> Tensor:
            return super().__call__(x.to(self.weight.device))

    class MovingImplementation(nn.Linear):
        def _call_impl(self, x: Tensor) -> Tensor:
            return super()._call_impl(x.to(self.weight.device))

    kinds: list[Any] = [Moves, *(lambda k=k: k(4, 4) for k in (MovingLinear, MovingCall))]
    return [
        stepped(kind().cuda(), torch.randn(2, 4))
        for kind in (*kinds, lambda: MovingImplementation(4, 4))
    ]


@ON_CUDA
def hooks_that_move() -> Any:
    def move(module: nn.Module, args: Any) -> Any:
        return tuple(each.cuda() for each in args)

    def move_all(module: nn.Module, args: Any, kwargs: Any) -> Any:
        return args, {name: each.cuda() for name, each in kwargs.items()}

    x, found = torch.randn(2, 4), []
    for add in (
        lambda layer: layer.register_forward_pre_hook(move),
        lambda layer: layer.register_forward_pre_hook(move, prepend=True),
        lambda layer: nn.modules.module.register_module_forward_pre_hook(move),
    ):
        layer = nn.Linear(4, 3).cuda()
        handle = add(layer)
        found.append(stepped(layer, x))
        handle.remove()
        found.append(layer(x.cuda()))
    layer = nn.Linear(4, 3).cuda()
    layer.register_forward_pre_hook(move_all, with_kwargs=True)
    layer.register_forward_hook(lambda module, args, out: out * 2)
    return [*found, stepped(layer, input=x)]


@ON_CUDA
def a_forward_of_one_instance() -> Any:
    layer = nn.Linear(4, 3).cuda()
    inner = layer.forward
    layer.forward = lambda x: inner(x.cuda())  # type: ignore[method-assign]
    return stepped(layer, torch.randn(2, 4))


@ON_CUDA
def layers_that_are_changed() -> Any:
    class Partial(nn.Conv1d):
        def _conv_forward(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
            return super()._conv_forward(x.to(weight.device), weight, bias)

    class Kept(nn.Linear):
        """Its weight stays on the host until it is asked for."""

        def __getattr__(self, name: str) -> Any:
            value = super().__getattr__(name)
            return value.cuda() if name == "weight" else value

    x = torch.randn(2, 4)
    kept = Kept(4, 3)
    kept._parameters["weight"] = nn.Parameter(torch.randn(3, 4))
    kept.bias = nn.Parameter(torch.zeros(3, device="cuda"))
    found = [stepped(Partial(4, 2, 1).cuda(), torch.randn(1, 4, 3)), kept(x.cuda())]
    layer, forward = nn.Linear(4, 3).cuda(), nn.Linear.forward
    layer(x.cuda())

    @functools.wraps(forward)
    def patched(self: nn.Linear, x: Tensor) -> Tensor:
        return forward(self, x.to(self.weight.device))

    nn.Linear.forward = patched  # type: ignore[method-assign, assignment]
    try:
        return [*found, stepped(layer, x)]
    finally:
        nn.Linear.forward = forward  # type: ignore[method-assign]


@ON_CUDA
def programs_that_try() -> Any:
    class Tries(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.scale = nn.Linear(4, 4), nn.Parameter(torch.ones(4))

        def forward(self, x: Tensor) -> Tensor:
            try:
                return self.layer(x)
            except RuntimeError:
                return self.layer(x.cuda()) * self.scale

    return stepped(Tries().cuda(), torch.randn(2, 4))


@ON_CUDA
def layers_over_two_devices() -> Any:
    class Spread(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).to("cuda:0")
            self.second = nn.LSTM(4, 4).to("cuda:1")
            self.table = nn.Embedding(5, 4)  # on the host, with what looks things up

        def forward(self, index: Tensor) -> Tensor:
            x = self.first(self.table(index.cpu()).to("cuda:0"))
            return self.second(x.to("cuda:1"))[0].to("cuda:0")

    return stepped(Spread(), torch.tensor([[0, 1]], device="cuda"))


# --- tensors that aren't plain


@ON_CPU
def meta_and_fake_tensors() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    found = [model(torch.empty(2, 4, device="meta")), model[0](torch.empty(2, 4, device="meta"))]
    real = copy.deepcopy(model).to_empty(device="cpu")
    for each in real.parameters():
        nn.init.ones_(each)
    real[1].reset_running_stats()
    found.append(real(torch.ones(2, 4)))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = nn.Linear(4, 4)
        found += [tuple(fake(torch.ones(2, 4)).shape), tuple(real(torch.ones(2, 4)).shape)]
        there = nn.Linear(4, 4, device="cuda") if torch.cuda.is_available() else fake
        found.append(tuple(there(mode.from_tensor(torch.ones(2, 4)).to(fake.weight.device)).shape))
    return found


@ON_CUDA
def meta_models_that_are_filled() -> Any:
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    state = {name: torch.randn(p.shape, device="cuda") for name, p in model.named_parameters()}
    functional = torch.func.functional_call(model, state, torch.randn(2, 4, device="cuda"))
    model.load_state_dict(state, assign=True)
    return functional, stepped(model, torch.randn(2, 4, device="cuda"))


@ON_CUDA
def lazy_modules() -> Any:
    made = nn.Sequential(
        nn.LazyConv1d(3, 2, device="cuda"), nn.Flatten(), nn.LazyLinear(2, device="cuda")
    )
    found = [stepped(made, torch.randn(2, 4, 5, device="cuda")) for _ in range(2)]
    late = nn.Sequential(nn.LazyConv1d(3, 2), nn.LazyBatchNorm1d(), nn.Flatten(), nn.LazyLinear(2))
    found.append(stepped(late, torch.randn(2, 4, 5)))
    return found, stepped(late.cuda(), torch.randn(2, 4, 5, device="cuda"))


@ON_CPU
def quantised_modules() -> Any:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    smaller = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    recurrent = torch.ao.quantization.quantize_dynamic(nn.LSTM(4, 3), {nn.LSTM})
    return smaller(torch.randn(2, 4)), recurrent(torch.randn(5, 1, 4))


@ON_CPU
def sparse_and_nested_tensors() -> Any:
    layer, table = nn.Linear(4, 3), nn.Embedding(5, 4, sparse=True)
    x = torch.eye(4)
    table(torch.tensor([0, 3])).sum().backward()
    assert table.weight.grad is not None
    found = [layer(x.to_sparse().to_dense()), str(table.weight.grad), layer(x.to_sparse_csr())]
    block = nn.TransformerEncoderLayer(4, 2, 4, 0.0, batch_first=True).eval()
    for layout in (torch.strided, torch.jagged):
        rows = [torch.randn(2, 4), torch.randn(3, 4)]
        nested = torch.nested.nested_tensor(rows, layout=layout)
        found.append(list(layer(nested).unbind()))
    mask = torch.tensor([[False, False, True], [False, False, False]])
    encoder = nn.TransformerEncoder(block, 1).eval()
    with torch.no_grad():
        found.append(encoder(torch.randn(2, 3, 4), src_key_padding_mask=mask))
    return found


class Logged(Tensor):
    """A tensor that notes what it is asked."""

    asked: list[str] = []  # noqa: RUF012

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.asked.append(getattr(func, "__qualname__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


@ON_CPU
def subclasses_of_tensor_are_not_asked() -> Any:
    Logged.asked.clear()
    layer = nn.Linear(4, 3)
    layer.weight = nn.Parameter(layer.weight.detach().as_subclass(Logged))
    layer(torch.randn(2, 4)).sum()
    nn.LSTM(4, 2)(torch.randn(2, 1, 4).as_subclass(Logged))
    return list(Logged.asked)


@ON_CPU
def modes_of_the_program_see_nothing_else() -> Any:
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Functions(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(getattr(func, "__name__", str(func)))
            return func(*args, **(kwargs or {}))

    class Operators(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x, model = torch.randn(2, 4), nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    with Functions(), Operators():
        model(x)
    with torch.device("cpu"):
        model(x)
    return seen


# --- what people do to modules


@ON_CUDA
def parametrised_modules() -> Any:
    x = torch.randn(2, 4, device="cuda")
    changes: tuple[Callable[[nn.Linear], nn.Module], ...] = (
        nn.utils.spectral_norm,
        nn.utils.weight_norm,
        parametrizations.spectral_norm,
        parametrizations.weight_norm,
        parametrizations.orthogonal,
        lambda layer: prune.l1_unstructured(layer, "weight", 0.5),
    )
    found = [stepped(change(nn.Linear(4, 4)).cuda(), x) for change in changes]
    with parametrize_room.cached():
        found.append(stepped(parametrizations.weight_norm(nn.Linear(4, 4)).cuda(), x))
    return found


@ON_CUDA
def wrappers_of_layers() -> Any:
    class LowRank(nn.Module):
        def __init__(self, base: nn.Linear) -> None:
            super().__init__()
            self.base = base.requires_grad_(False)
            self.down = nn.ModuleDict({"default": nn.Linear(4, 2, bias=False)})
            self.up = nn.ModuleDict({"default": nn.Linear(2, 4, bias=False)})

        @property
        def weight(self) -> Tensor:
            return self.base.weight

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.base, name)

        def forward(self, x: Tensor) -> Tensor:
            return self.base(x) + self.up["default"](self.down["default"](x))

    model = nn.Sequential(LowRank(nn.Linear(4, 4)), nn.Dropout(0.5)).cuda()
    return stepped(model, torch.randn(2, 4, device="cuda")), model[0].in_features


@ON_CUDA
def layers_with_unusual_arguments() -> Any:
    def on(*shape: int) -> Tensor:
        return torch.randn(*shape, device="cuda")

    labels = torch.randint(0, 3, (2,), device="cuda")
    weights = torch.tensor([1.0, 2.0, 3.0])
    lstm, cell = nn.LSTM(4, 3).cuda(), nn.LSTMCell(4, 3).cuda()
    bag = nn.EmbeddingBag(5, 4, mode="sum").cuda()
    places = torch.tensor([0, 1, 4], device="cuda")
    attention = nn.MultiheadAttention(4, 2, batch_first=True).cuda()
    x = on(2, 3, 4)
    return [
        lstm(on(5, 1, 4), (on(1, 1, 3), on(1, 1, 3))),
        cell(on(2, 4), None),
        bag(places, offsets=torch.tensor([0, 2], device="cuda"), per_sample_weights=on(3)),
        nn.CrossEntropyLoss(weight=weights).cuda()(on(2, 3), labels),
        nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))(on(2), on(2)),
        nn.BatchNorm1d(4, affine=False, track_running_stats=False)(on(2, 4)),
        nn.InstanceNorm1d(4)(on(2, 4, 3)),
        nn.SyncBatchNorm(4).cuda().eval()(on(2, 4)),
        nn.ConvTranspose1d(4, 2, 3, stride=2).cuda()(on(2, 4, 3), output_size=[8]),
        attention(x, x, x, torch.zeros(2, 3, dtype=torch.bool, device="cuda")),
        nn.Linear(4, 2).cuda()(torch.empty(0, 4, device="cuda")),
        nn.Bilinear(4, 4, 2).cuda()(on(2, 4), on(2, 4)),
        nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4]).cuda()(on(2, 4), labels),
    ]


@ON_CUDA
def attention_goes_the_same_way() -> Any:
    block = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True).cuda().eval()
    model = nn.Transformer(8, 2, 1, 1, 8, batch_first=True).cuda()
    x = torch.randn(2, 3, 8, device="cuda")
    with torch.no_grad():
        fast = block(x)
    mask = nn.Transformer.generate_square_subsequent_mask(3, device="cuda")
    return fast, block(x), stepped(model, x, x, tgt_mask=mask, tgt_is_causal=True)


@ON_CPU
def modules_without_tensors() -> Any:
    class Anything(nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return type(args).__name__, len(args), sorted(kwargs)

    @dataclasses.dataclass
    class Batch:
        x: Tensor

    class Pair(NamedTuple):
        x: Tensor
        y: Tensor

    circle: list[Any] = []
    circle.append(circle)
    ring: dict[str, Any] = {"x": torch.ones(2)}
    ring["ring"] = ring
    deep: Any = torch.ones(2)
    for _ in range(200):
        deep = [deep]
    numbers = (number for number in range(3))
    module = Anything()
    found = [
        module(*given)
        for given in (
            (), (circle, ring), (deep,), (list(range(100_000)),), (Batch(torch.ones(1)),),
            (Pair(torch.ones(1), torch.ones(1)),), (UserDict(x=torch.ones(1)),), (numbers,),
            ({1, 2}, {torch.float32: torch.ones(1)}, object(), type, module),
        )
    ]  # fmt: skip
    assert next(numbers) == 0  # nobody has taken one
    return found, module(x=1, circle=circle)


@ON_CPU
def layers_that_get_strange_containers() -> Any:
    """What a layer of torch gets is looked into; it isn't changed, and takes no time."""

    class Passes(nn.Identity):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("held", torch.ones(2))

    class Loud(dict[str, Any]):
        def __iter__(self) -> Iterator[str]:
            raise AssertionError("somebody iterates")

        items = keys = values = __getitem__ = __len__ = __iter__  # type: ignore[assignment]

    circle: list[Any] = []
    circle.extend([circle] * 100)
    numbers = (number for number in range(3))
    given: list[Any] = [circle, numbers, Loud(x=torch.ones(1)), list(range(100_000)), object()]
    module = Passes()
    assert all(module(each) is each for each in given)
    return next(numbers)


@ON_CPU
def modules_that_compare_as_they_like() -> Any:
    @dataclasses.dataclass(eq=True)
    class Settings(nn.Module):
        width: int

        def __post_init__(self) -> None:
            super().__init__()
            self.scale = torch.tensor(float(self.width))

        def forward(self, x: Tensor) -> Tensor:
            return x * self.scale

    with guard(when="first-batches", batches=1):
        first = Settings(2)(torch.ones(3))
    return first, Settings(2)(torch.ones(3)), Settings(2) == Settings(2)


@ON_CPU
def a_module_that_is_deep() -> Any:
    model: nn.Module = nn.Linear(2, 2)
    for _ in range(60):
        model = nn.Sequential(model)
    return stepped(model, torch.ones(1, 2))


# --- functional transforms, tracing, scripts


@ON_CUDA
def functional_transforms() -> Any:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)).cuda()
    x = torch.randn(3, 4, device="cuda")
    state = dict(model.named_parameters())

    def loss(state: dict[str, Tensor], x: Tensor) -> Tensor:
        return torch.func.functional_call(model, state, (x,)).sum()

    found = [torch.func.grad(loss)(state, x), torch.vmap(model)(x)]
    found.append(torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(state, x))
    found.append(torch.func.jvp(model, (x,), (torch.ones_like(x),)))
    found.append(torch.func.jacrev(model)(x))
    stacked, buffers = torch.func.stack_module_state([model, copy.deepcopy(model)])
    call = functools.partial(torch.func.functional_call, model)
    return [*found, torch.vmap(lambda p, b: call((p, b), (x,)))(stacked, buffers)]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(torch.relu(self.layer(x)))


class Stack(nn.Module):
    def __init__(self, breaks: bool = False) -> None:
        super().__init__()
        self.blocks, self.head = nn.ModuleList([Block(), Block()]), nn.Linear(4, 2)
        self.breaks = breaks

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        if self.breaks:
            torch._dynamo.graph_break()
        return self.head(x)


@ON_CPU
def scripts_and_traces() -> Any:
    x = torch.randn(3, 4)
    traced, scripted = torch.jit.trace(Stack(), (x,)), torch.jit.script(Block())
    mixed = nn.Sequential(scripted, Block(), traced)
    graphs = [
        [node.kind() for node in each.nodes()] for each in (traced.inlined_graph, scripted.graph)
    ]
    return graphs, stepped(mixed, x), scripted(x)


@ON_CPU
def traces_of_fx() -> Any:
    x = torch.randn(3, 4)
    made = torch.fx.symbolic_trace(Stack())
    recorded = torch.fx.experimental.proxy_tensor.make_fx(Stack())(x)
    return made.code, recorded.code, stepped(made, x)


@ON_CPU
def exported_programs() -> Any:
    x, found = torch.randn(3, 4), []
    for strict in (True, False):
        program = torch.export.export(Stack(), (x,), strict=strict)
        found.append((str(program.graph), program.module()(x)))
    return found


# --- around a call


@ON_CUDA
def checkpoints() -> Any:
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential

    x = torch.randn(3, 4, device="cuda", requires_grad=True)
    model, found = nn.Sequential(Block(), nn.Dropout(0.5), Block()).cuda(), []
    for reentrant in (True, False):
        checkpoint(model, x, use_reentrant=reentrant).sum().backward()
        checkpoint_sequential(model, 2, x, use_reentrant=reentrant).sum().backward()
        found.append((grads(model), x.grad))
    return found


@ON_CUDA
def autocast_and_inference() -> Any:
    model, x = Stack().cuda(), torch.randn(3, 4, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        half = stepped(model, x)
    with torch.inference_mode():
        inferred = model(x)
    with torch.no_grad():
        return half, inferred, model.eval()(x)


@ON_CUDA
def backward_hooks() -> Any:
    model, seen = Stack().cuda(), []
    for module in model.modules():
        module.register_full_backward_hook(lambda m, i, o: seen.append(type(m).__name__))
    return stepped(model, torch.randn(3, 4, device="cuda")), seen


@ON_CUDA
def replicas_of_data_parallel() -> Any:
    model = nn.DataParallel(Stack().cuda())
    return stepped(model, torch.randn(6, 4, device="cuda"))


@ON_CUDA
def averaged_models() -> Any:
    from torch.optim.swa_utils import AveragedModel

    model, x = Stack().cuda(), torch.randn(3, 4, device="cuda")
    averaged = AveragedModel(model)
    averaged.update_parameters(model)
    return averaged(x), copy.deepcopy(model)(x), pickle.loads(pickle.dumps(model))(x)


# --- the real Accelerate and transformers


@ON_CUDA
def dispatched_models() -> Any:
    accelerate = pytest.importorskip("accelerate")

    def layers() -> nn.Sequential:
        return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.LSTM(4, 3), nn.Identity())

    import tempfile

    x = torch.randn(3, 4)
    with tempfile.TemporaryDirectory() as folder:
        maps: list[dict[str, Any]] = [
            {"0": 0, "1": 1, "2": 0, "3": 1},
            {"0": "cpu", "1": 0, "2": 1, "3": 0},
            {"0": "disk", "1": 0, "2": "cpu", "3": 1},
        ]
        spread = [
            accelerate.dispatch_model(layers(), device_map=each, offload_dir=folder, main_device=0)
            for each in maps
        ]
        found = [model(x) for model in spread for _ in range(2)]
    whole = accelerate.cpu_offload(layers(), torch.device("cuda:0"))
    hooked, hook = accelerate.cpu_offload_with_hook(layers(), torch.device("cuda:0"))
    found += [whole(x), hooked(x)]
    hook.offload()
    accelerate.hooks.remove_hook_from_submodules(spread[0])
    return found


@ON_CUDA
def a_loaded_model_with_a_device_map() -> Any:
    pytest.importorskip("accelerate")
    transformers = pytest.importorskip("transformers")
    import tempfile

    tokens = torch.randint(0, 40, (1, 5))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        tiny_gpt2(transformers).save_pretrained(folder)
        blocks = {f"transformer.h.{index}": index for index in range(2)}
        ends = {f"transformer.{name}": 0 for name in ("wte", "wpe", "drop")}
        places = {**blocks, **ends, "transformer.ln_f": "cpu", "lm_head": 0}
        model = transformers.GPT2LMHeadModel.from_pretrained(folder, device_map=places)
        found.append(model(input_ids=tokens).logits)
    return found


def tiny_gpt2(transformers: Any) -> Any:
    settings = transformers.GPT2Config(
        n_embd=8, n_layer=2, n_head=2, vocab_size=40, n_positions=16,
        bos_token_id=0, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(settings)


@ON_CUDA
def models_that_write() -> Any:
    transformers = pytest.importorskip("transformers")
    model = tiny_gpt2(transformers).eval().cuda()
    tokens = torch.randint(2, 40, (1, 5), device="cuda")
    return model.generate(tokens, max_new_tokens=3, do_sample=False)


@pytest.mark.parametrize("name", ON_CPU)
def test_on_the_cpu(name: str) -> None:
    check(ON_CPU[name])


@pytest.mark.parametrize("name", ON_CUDA)
def test_on_an_accelerator(name: str) -> None:
    with emulate("cuda", count=2):
        check(ON_CUDA[name])


# --- training


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.2), nn.GELU(), nn.Linear(8, 3))


def pictures() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 2), nn.BatchNorm2d(4), nn.ReLU(),
        nn.Flatten(), nn.Linear(8, 3),
    )  # fmt: skip


class Translator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Transformer(6, 2, 1, 1, 8, batch_first=True)
        self.head = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.inner(x[:, None], x[:, None])[:, 0])


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.head = nn.LSTM(2, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.inner(x.view(len(x), 3, 2))[0][:, -1])


class Writer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = tiny_gpt2(pytest.importorskip("transformers"))

    def forward(self, x: Tensor) -> Tensor:
        tokens = (x * 10).long().clamp(0, 39)
        return self.inner(input_ids=tokens).logits[:, -1, :3]


def trained(make: Callable[[], nn.Module], optimizer: str, device: str, around: Any) -> Any:
    """Losses, gradients and weights of five steps."""
    torch.manual_seed(0)
    model, losses = make().to(device), []
    stepper = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)
    with around(model):
        for step in range(5):
            x = torch.randn(4, 6, generator=torch.Generator().manual_seed(step)).to(device)
            loss = F.cross_entropy(model(x), torch.tensor([0, 1, 2, 0], device=device))
            stepper.zero_grad()
            loss.backward()
            stepper.step()
            losses.append(loss.item())
    return detached([losses, grads(model), model.state_dict(), torch.rand(1)])


GUARDS: dict[str, Any] = {
    "explain": lambda model: guard(model, mode="explain"),
    "strict": guard,
    "all modules": lambda model: guard(),
    "first batches": lambda model: guard(model, when="first-batches", batches=2),
    "trace": lambda model: guard(model, mode="trace"),
}


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("make", [mlp, pictures, Translator, Recurrent, Writer])
def test_training_is_the_same(make: Callable[[], nn.Module], optimizer: str) -> None:
    plain = trained(make, optimizer, "cpu", contextlib.nullcontext)
    for name, around in GUARDS.items():
        if optimizer == "SGD" or name in ("strict", "trace"):
            assert same(plain, trained(make, optimizer, "cpu", around)), name
    with emulate("cuda"):
        plain = trained(make, optimizer, "cuda", contextlib.nullcontext)
        assert same(plain, trained(make, optimizer, "cuda", guard))


# --- torch.compile


class Compiled:
    """What torch.compile does with a program."""

    def __init__(self) -> None:
        import torch._dynamo

        self.graphs: list[str] = []
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()

    def backend(self, made: Any, inputs: Any) -> Any:
        self.graphs.append(made.code)
        return made.forward

    def facts(self) -> Any:
        counters = torch._dynamo.utils.counters
        return self.graphs, {name: dict(found) for name, found in counters.items()}


@pytest.fixture
def fresh_compiler() -> Iterator[None]:
    yield
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()


def compiled_runs(around: Any, breaks: bool, how: str) -> Any:
    compiled, x = Compiled(), torch.ones(3, 4)
    torch.manual_seed(0)
    model = Stack(breaks)
    model.register_forward_hook(lambda module, args, out: out * 2)
    options: dict[str, Any] = {"backend": compiled.backend, "fullgraph": not breaks}
    call: Callable[..., Any] = model
    if how == "method":
        model.compile(**options)
    elif how == "function":
        call = torch.compile(lambda x: model(x) + 1, **options)
    else:
        call = torch.compile(model, **options)
    found = []
    for index in range(4):
        with around() if index % 2 else contextlib.nullcontext():
            found.append(call(x))
    found[0].sum().backward()
    return same, detached([found, grads(model)]), compiled.facts()


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("how", ["module", "method", "function"])
def test_what_is_compiled_is_the_same(breaks: bool, how: str) -> None:
    plain = compiled_runs(contextlib.nullcontext, breaks, how)
    traced = functools.partial(guard, mode="trace")
    for around in (guard, traced) if how == "module" else (guard,):
        watched = compiled_runs(around, breaks, how)
        assert same(plain[1], watched[1])
        assert plain[2] == watched[2]


@pytest.mark.usefixtures("fresh_compiler")
def test_entering_and_leaving_compiles_nothing_again() -> None:
    compiled, model, x = Compiled(), Stack(), torch.ones(3, 4)
    outer = torch.compile(lambda x: model(x) + 1, backend=compiled.backend, fullgraph=True)
    with guard():
        outer(x)
    if not hasattr(torch._dynamo.utils, "unpatched_nn_module_call_impl"):
        outer(x)  # older ones read the function itself: once with a guard, and once without
    graphs = list(compiled.graphs)
    assert len(set(graphs)) == 1
    with torch._dynamo.config.patch(error_on_recompile=True):
        outer(x)
        for mode in ("strict", "strict", "trace"):
            with guard(mode=mode), guard(model, when="first-batches", batches=1):
                outer(x)
    assert compiled.graphs == graphs


@pytest.mark.usefixtures("fresh_compiler")
def test_nothing_of_the_guard_is_compiled() -> None:
    """Each class of modules would be a reason to compile the guard's function once more."""
    compiled, x = Compiled(), torch.ones(3, 4)
    from torch._dynamo.eval_frame import _debug_get_cache_entry_list

    with guard():
        for breaks in (True, False):
            torch.compile(Stack(breaks), backend=compiled.backend)(x)
        assert _debug_get_cache_entry_list(nn.Module._call_impl.__code__) == []
    assert compiled.graphs
    reasons = torch._dynamo.utils.counters["graph_break"]
    assert not [reason for reason in reasons if "devlint" in reason]


class Broken(nn.Module):
    """Its own code isn't compiled, since it breaks in a loop; what that calls is."""

    def __init__(self) -> None:
        super().__init__()
        own, unlearned = nn.Sequential(Block()), nn.BatchNorm1d(4, affine=False)
        self.layers = nn.ModuleList([nn.Linear(4, 4), own, unlearned])
        self.cell = nn.LSTMCell(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = self.cell(layer(x), (x, x))[0]
            torch._dynamo.graph_break()
        return x


@pytest.mark.usefixtures("fresh_compiler")
def test_no_more_is_compiled_where_layers_are_called_uncompiled() -> None:
    def facts(around: Any) -> Any:
        compiled = Compiled()
        call = torch.compile(Broken(), backend=compiled.backend)
        with around():
            for _ in range(2):
                call(torch.ones(3, 4))
        return compiled.facts()

    plain = facts(contextlib.nullcontext)
    assert plain[0]
    assert facts(guard) == plain


@pytest.mark.usefixtures("fresh_compiler")
def test_breaks_are_counted_alike() -> None:
    import torch._dynamo

    for breaks in (False, True):
        plain = torch._dynamo.explain(Stack(breaks))(torch.ones(3, 4))
        torch._dynamo.reset()
        with guard():
            watched = torch._dynamo.explain(Stack(breaks))(torch.ones(3, 4))
        assert watched.graph_break_count == plain.graph_break_count == int(breaks)
        assert watched.graph_count == plain.graph_count
        torch._dynamo.reset()


@pytest.mark.usefixtures("fresh_compiler")
def test_the_other_backend_trains_alike() -> None:
    def run(around: Any) -> Any:
        import torch._dynamo

        torch._dynamo.reset()
        torch.manual_seed(0)
        model = Stack()
        call = torch.compile(model, backend="aot_eager", fullgraph=True)
        with around():
            out = call(torch.ones(3, 4))
            out.sum().backward()
        return detached([out, grads(model)])

    plain = run(contextlib.nullcontext)
    assert same(plain, run(guard))


# --- mistakes that are found in the same surroundings


class Pair(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.inner(*args, **kwargs)


def on_two_devices() -> nn.Linear:
    layer = nn.Linear(4, 3).cuda()
    layer.bias = nn.Parameter(torch.zeros(3))
    return layer


MISTAKES: dict[str, Case] = {
    "by name": lambda: Pair(nn.Linear(4, 3).cuda())(input=torch.ones(2, 4)),
    "state": lambda: Pair(nn.LSTM(4, 3).cuda())(
        torch.ones(5, 1, 4).cuda(), (torch.zeros(1, 1, 3), torch.zeros(1, 1, 3).cuda())
    ),
    "packed": lambda: Pair(nn.GRU(4, 3).cuda())(rnn.pack_sequence([torch.ones(5, 4)])),
    "attention": lambda: Pair(nn.MultiheadAttention(4, 2).cuda())(
        torch.ones(2, 1, 4).cuda(), torch.ones(2, 1, 4).cuda(), value=torch.ones(2, 1, 4)
    ),
    "two devices": lambda: Pair(on_two_devices())(torch.ones(2, 4).cuda()),
    "weight of a loss": lambda: nn.CrossEntropyLoss(torch.ones(3))(
        torch.ones(2, 3).cuda(), torch.tensor([0, 1]).cuda()
    ),
    "index": lambda: Pair(nn.Embedding(5, 4).cuda())(torch.tensor([0])),
    "a mode": lambda: a_mode(nn.Linear(4, 3).cuda()),
    "a subclass": lambda: type("Mine", (nn.Linear,), {})(4, 3).cuda()(torch.ones(2, 4)),
}


def a_mode(layer: nn.Module) -> Tensor:
    with torch.device("cpu"):
        return layer(torch.ones(2, 4))


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.parametrize("mode", ["strict", "trace"])
def test_mistakes_are_found_before_a_kernel_runs(name: str, mode: str) -> None:
    with emulate("cuda", count=2):
        with guard(mode=mode), pytest.raises(DeviceMismatchError) as caught:
            MISTAKES[name]()
        assert caught.value.torch_message == ""


class Later(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return nn.Linear(4, 4).cpu()(grad) if grad.dim() == 2 else grad + torch.ones(4)


def backward_of_a_function() -> None:
    Later.apply(torch.ones(4, device="cuda", requires_grad=True)).sum().backward()


def a_layer_in_backward() -> None:
    Later.apply(torch.ones(2, 4, device="cuda", requires_grad=True)).sum().backward()


def checkpointed(reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    model = nn.Sequential(nn.Linear(4, 4).cuda(), Pair(nn.Linear(4, 4)))
    x = torch.ones(2, 4, device="cuda", requires_grad=True)
    checkpoint(model, x, use_reentrant=reentrant)


def offloaded() -> None:
    accelerate = pytest.importorskip("accelerate")
    model = accelerate.dispatch_model(
        nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), device_map={"0": 0, "1": 1}
    )
    model(torch.ones(2, 4)) + torch.ones(2, 2).cuda()


def replicated() -> None:
    class Strays(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x) + torch.ones(4)

    nn.DataParallel(Strays().cuda())(torch.ones(4, 4).cuda())


def functional() -> None:
    layer = nn.Linear(4, 3)
    state = {name: p.cuda() for name, p in layer.named_parameters()}
    torch.func.functional_call(layer, state, torch.ones(2, 4))


def below_a_hook() -> None:
    layer = nn.Linear(4, 3).cuda()
    layer.register_forward_pre_hook(lambda module, args: None)
    layer(torch.ones(2, 4))


@pytest.mark.parametrize(
    "mistake",
    [
        backward_of_a_function, a_layer_in_backward, lambda: checkpointed(True),
        lambda: checkpointed(False), offloaded, replicated, functional, below_a_hook,
    ],
)  # fmt: skip
def test_mistakes_are_told_wherever_they_are(mistake: Callable[[], None]) -> None:
    with emulate("cuda", count=2), pytest.raises(DeviceMismatchError) as caught, guard():
        mistake()
    assert "devlint rule DEV" in str(caught.value)
    # A checkpoint that failed stays among the hooks on saved tensors until its frames are freed.
    del caught
    gc.collect()


# --- errors of the program


def test_an_error_is_gone_when_nobody_holds_it() -> None:
    class Fails(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            big = x * 2
            kept.append(weakref.ref(big))
            raise ValueError("too big")

    for mode in ("off", "explain", "strict", "trace"):
        kept: list[Any] = []
        gc.disable()
        try:
            with guard(mode=mode):
                with contextlib.suppress(ValueError):
                    nn.Sequential(Fails())(torch.ones(2))
                assert kept[0]() is None, mode
        finally:
            gc.enable()


def test_errors_that_say_something_to_others_pass() -> None:
    class Stop(Exception):  # noqa: N818
        pass

    stop = Stop()

    class Stops(nn.Module):
        def forward(self, error: BaseException) -> None:
            raise error

    model = nn.Sequential(nn.Sequential(Stops()))
    for error in (stop, StopIteration(), KeyboardInterrupt(), GeneratorExit(), stop):
        with guard(), pytest.raises(type(error)) as caught:
            model(error)
        assert caught.value is error
        assert error.__cause__ is None


def test_modules_that_call_themselves_for_ever() -> None:
    class Endless(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return self(x)

    for mode in ("strict", "trace"):
        with guard(mode=mode), pytest.raises(RecursionError):
            Endless()(torch.ones(1))


def test_what_the_guard_cannot_read_ends_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> None:
        raise KeyError("of the guard")

    monkeypatch.setattr(sys.modules[Guard.__module__], "disagreement", fails)
    monkeypatch.setattr(structure, "judge", fails)
    with emulate("cuda"), guard(), torch.device("cpu"):
        model = Stack().cuda()
        assert model(torch.ones(2, 4).cuda()).is_cuda


# --- on and off, in every order


def test_tools_that_patch_the_same_function() -> None:
    seen: list[str] = []

    @contextlib.contextmanager
    def tool(name: str) -> Iterator[None]:
        before = nn.Module._call_impl

        def patched(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
            seen.append(name)
            return before(self, *args, **kwargs)

        nn.Module._call_impl = patched  # type: ignore[method-assign]
        try:
            yield
        finally:
            nn.Module._call_impl = before  # type: ignore[method-assign]

    layer, x = nn.Linear(2, 2), torch.ones(1, 2)
    for order in (
        "guard tool -guard -tool", "guard tool -tool -guard", "tool guard -tool -guard",
        "tool guard -guard -tool", "guard tool other -guard -tool -other",
        "guard tool other -tool -guard -other", "guard tool first -first other -guard -tool -other",
    ):  # fmt: skip
        made = {
            "guard": guard(), "other": guard(layer), "tool": tool("tool"),
            "first": guard(layer, when="first-batches"),
        }  # fmt: skip
        is_on = False
        for step in order.split():
            name = step.lstrip("-")
            if step == name:
                made[name].__enter__()
            else:
                made[name].__exit__(None, None, None)
            if name == "tool":
                is_on = step == name
            seen.clear()
            layer(x)
            assert seen == (["tool"] if is_on else []), (order, step)
        assert nn.Module._call_impl is PLAIN, order


def test_a_guard_that_is_put_back_by_others_still_checks() -> None:
    with emulate("cuda"):
        layer, x = nn.Linear(2, 2).cuda(), torch.ones(1, 2)
        with guard():
            ours = nn.Module._call_impl
            nn.Module._call_impl = lambda *args, **kwargs: ours(*args, **kwargs)  # type: ignore
            with guard(layer):
                nn.Module._call_impl = ours  # type: ignore[method-assign]
                with pytest.raises(DeviceMismatchError):
                    layer(x)


def test_a_tool_around_the_call_itself() -> None:
    seen: list[str] = []
    inner = nn.Module.__call__
    layer = nn.Linear(2, 2)

    def patched(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        seen.append("tool")
        return inner(self, *args, **kwargs)

    with guard():
        nn.Module.__call__ = patched  # type: ignore[method-assign]
        try:
            layer(torch.ones(1, 2))
        finally:
            nn.Module.__call__ = inner  # type: ignore[method-assign]
        assert torch.fx.symbolic_trace(layer)(torch.ones(1, 2)).shape == (1, 2)
    assert seen == ["tool"]


def test_left_in_another_thread() -> None:
    one = guard()
    one.__enter__()
    thread = threading.Thread(target=one.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert not one.is_on
    assert nn.Module._call_impl is PLAIN
    with emulate("cuda"), pytest.raises(DeviceMismatchError), one:
        nn.Linear(2, 2).cuda()(torch.ones(1, 2))


def test_models_trained_in_threads_under_guards_of_their_own() -> None:
    results: list[Any] = []

    def work(around: Any) -> None:
        with around(nn.Linear(1, 1)):
            results.append(trained_from(plain_state, around))

    torch.manual_seed(0)
    plain_state = mlp_without_chance().state_dict()
    expected = trained_from(plain_state, contextlib.nullcontext)
    threads = [threading.Thread(target=work, args=(each,)) for each in GUARDS.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == len(GUARDS)
    assert all(same(expected, each) for each in results)


def mlp_without_chance() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def trained_from(state: dict[str, Tensor], around: Any) -> Any:
    model = mlp_without_chance()
    model.load_state_dict(state)
    stepper = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(30):
        with around(model):
            loss = model(torch.full((2, 6), float(step % 3))).square().sum()
        stepper.zero_grad()
        loss.backward()
        stepper.step()
    return detached(model.state_dict())


def test_a_generator_holds_its_guard() -> None:
    layer = nn.Linear(2, 2)

    def batches() -> Iterator[Tensor]:
        with guard(layer):
            for _ in range(3):
                yield layer(torch.ones(1, 2))

    open_one = batches()
    next(open_one)
    with guard():
        assert len(list(batches())) == 3
    assert nn.Module._call_impl is not PLAIN
    open_one.close()
    assert nn.Module._call_impl is PLAIN


def test_modes_in_one_another() -> None:
    model, x = Stack(), torch.ones(3, 4)
    plain = model.eval()(x)
    for outer in ("explain", "strict", "trace"):
        for inner in ("off", "explain", "strict", "trace"):
            with guard(mode=outer), guard(model, mode=inner):
                assert torch.equal(model(x), plain)
            assert nn.Module._call_impl is PLAIN


def test_an_emulation_inside_a_guard() -> None:
    with guard():
        with emulate("cuda"), pytest.raises(DeviceMismatchError):
            nn.Linear(2, 2).cuda()(torch.ones(1, 2))
        nn.Linear(2, 2)(torch.ones(1, 2))


# --- what stays of it


def test_what_is_saved_needs_no_devlint(tmp_path: Path) -> None:
    model = Stack()
    model.blocks[0].compile(backend="eager")
    with guard(mode="trace"), guard():
        model(torch.ones(3, 4))
        file = io.BytesIO()
        torch.save({"model": mlp(), "state": model.state_dict()}, file)
        torch.save(model, tmp_path / "model.pt")
        torch.jit.script(Block()).save(str(tmp_path / "script.pt"))
        pickled = pickle.dumps(mlp())
        copied = copy.deepcopy(model)
    for data in (file.getvalue(), pickled, *(each.read_bytes() for each in tmp_path.iterdir())):
        assert b"devlint" not in data
    assert copied(torch.ones(3, 4)).shape == (3, 2)
    (tmp_path / "mlp.pt").write_bytes(file.getvalue())
    code = (
        "import sys; sys.modules['devlint'] = None; import torch;"
        f"found = torch.load({str(tmp_path / 'mlp.pt')!r}, weights_only=False);"
        "assert found['model'](torch.ones(2, 6)).shape == (2, 3)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("mode", ["explain", "strict", "trace"])
def test_no_tensor_lives_longer(mode: str) -> None:
    model = Stack()
    gc.disable()
    try:
        with guard(mode=mode):
            x = torch.ones(3, 4)
            loss = model(x).sum()
            loss.backward()
            kept = [weakref.ref(x), weakref.ref(loss)]
            del x, loss
            assert [each() for each in kept] == [None, None]
            with emulate("cuda"):
                layer, stray = nn.Linear(4, 3).cuda(), torch.ones(2, 4)
                kept = [weakref.ref(stray), weakref.ref(layer)]
                with contextlib.suppress(RuntimeError):
                    layer(stray)
                del stray, layer
    finally:
        gc.enable()
    gc.collect()
    assert [each() for each in kept] == [None, None]


@pytest.mark.parametrize("mode", ["explain", "strict", "trace"])
def test_nothing_grows(mode: str) -> None:
    layer, x = nn.Linear(2, 2), torch.ones(1, 2)
    steps = 10_000 if mode == "strict" else 2_000

    def step() -> None:
        Pair(layer)(x).sum().backward()  # modules that come and go

    with guard(mode=mode):
        for _ in range(50):
            step()
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(steps):
            step()
        gc.collect()
        assert len(gc.get_objects()) - before < 50
