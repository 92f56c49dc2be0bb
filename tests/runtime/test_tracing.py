"""Tracing: the lines where tensors come from, and nothing else about a program is different."""

from __future__ import annotations

import copy
import gc
import io
import linecache
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from groups import groups_end_last
from runtime.test_transfers import COPIES, NEITHER, WAITS, Named
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from devlint import emulate, guard
from devlint.runtime import transfers
from devlint.runtime.reader import READER
from devlint.runtime.tracing import Tracing
from devlint.runtime.tracing_mode import TracingMode
from devlint.runtime.transfers import TransferLog

T = TypeVar("T")


def stack() -> list[Any]:
    return torch.overrides._get_current_function_mode_stack()


def lines(tensor: Tensor) -> tuple[int | None, int | None]:
    """Where a tensor was made, and where it was moved."""
    with torch._C.DisableTorchFunction():
        facts = READER.facts("x", tensor)
    for site in (facts.site, facts.moved):
        assert site is None or site.file == __file__
    return facts.site and facts.site.line, facts.moved and facts.moved.line


def here() -> int:
    """The line that calls this."""
    return sys._getframe(1).f_lineno


# --- where tensors are made

MADE: dict[str, Callable[[Tensor], Tensor]] = {
    "a factory": lambda x: torch.zeros(3),
    "data": lambda x: torch.tensor([1.0, 2.0]),
    "an operator": lambda x: x @ x,
    "a function of torch.nn": lambda x: F.softmax(x, -1),
    "a layer": lambda x: nn.Linear(3, 3)(x),
    "a parameter of a layer": lambda x: nn.Linear(3, 3).weight,
    "an array": lambda x: torch.from_numpy(x.numpy().copy()),
    "a buffer": lambda x: torch.frombuffer(bytearray(16), dtype=torch.float32),
    "a copy": lambda x: copy.deepcopy(x),
    "a clone": lambda x: x.clone(),
    "another dtype": lambda x: x.to(torch.float64),
    "one of several": lambda x: torch.max(x, 0).values,
    "one of a list": lambda x: torch.meshgrid(x[0], x[1], indexing="ij")[0] * 1,
    "a file": lambda x: saved_and_loaded(x),
    "a sparse tensor": lambda x: x.to_sparse(),
    "a subclass": lambda x: (x * 2).as_subclass(Subclass) + 1,
    "a batch": lambda x: next(iter(DataLoader(TensorDataset(x), batch_size=2)))[0],
    "a batch of another process": lambda x: next(
        iter(DataLoader(TensorDataset(x), batch_size=2, num_workers=1))
    )[0],
}


class Subclass(Tensor):
    pass


def saved_and_loaded(x: Tensor) -> Tensor:
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    loaded: Tensor = torch.load(file, weights_only=True)
    return loaded


@pytest.mark.parametrize("name", MADE)
def test_where_a_tensor_is_made(name: str) -> None:
    x = torch.rand(3, 3)
    action = MADE[name]
    with Tracing():
        made = action(x)
    found, moved = lines(made)
    first = action.__code__.co_firstlineno
    inside = saved_and_loaded.__code__.co_firstlineno
    assert found is not None
    assert found in range(first, first + 3) or found in range(inside, inside + 6)
    assert moved is None


VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "an item": lambda x: x[0],
    "a reshaped": lambda x: x.view(-1),
    "a transposed": lambda x: x.T,
    "a detached": lambda x: x.detach(),
    "its data": lambda x: x.data,
    "a parameter": lambda x: nn.Parameter(x),
    "written to": lambda x: x.add_(1),
    "written to as out": lambda x: torch.add(torch.ones(3, 3), 1, out=x),
    "itself": lambda x: x.to(torch.float32),
    "parts": lambda x: x.chunk(3)[1],
    "a row in vmap": lambda x: (torch.vmap(lambda row: row.view(-1)[:2])(x), x)[1],
    "as a subclass": lambda x: x.as_subclass(Subclass),
    "its like in inference mode": lambda x: torch.inference_mode()(lambda: x.view(-1))(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_as_old_as_what_they_show(name: str) -> None:
    before = torch.rand(3, 3)
    with Tracing():
        made, line = torch.rand(3, 3), here()
        assert lines(VIEWS[name](made)) == (line, None)
        assert lines(VIEWS[name](before)) == (None, None)


def test_views_in_inference_mode() -> None:
    with torch.inference_mode():
        before = torch.rand(3, 3)
        with Tracing():
            assert lines(before.view(-1)) == (None, None)
            assert lines(before + 1) == (here(), None)


def test_gradients_are_not_made_where_they_are_read() -> None:
    layer = nn.Linear(3, 1)
    with Tracing():
        layer(torch.ones(3)).sum().backward()
        assert layer.weight.grad is not None
        assert lines(layer.weight.grad) == (None, None)


def test_the_line_is_the_programs_not_torchs(tmp_path: Path) -> None:
    source = "import torch\n\ndef make(layer, x):\n    y = layer(x)\n    return y\n"
    (tmp_path / "model.py").write_text(source, "utf-8")
    linecache.clearcache()
    names: dict[str, Any] = {}
    exec(compile(source, str(tmp_path / "model.py"), "exec"), names)
    with Tracing():
        y = names["make"](nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(2))
    site = READER.facts("y", y).site
    assert site is not None
    assert (Path(site.file).name, site.line, site.function) == ("model.py", 4, "make")


def test_before_and_after_nothing_is_noted() -> None:
    tracing = Tracing()
    before = torch.ones(2)
    with tracing:
        during, line = torch.ones(2), here()
    after = torch.ones(2)
    assert [lines(each) for each in (before, during, after)] == [
        (None, None), (line, None), (None, None),
    ]  # fmt: skip


# --- moves


def test_a_move_keeps_where_it_was_made() -> None:
    with emulate("cuda"), Tracing():
        x, made = torch.ones(3), here()
        y, moved = x.cuda(), here()
        back, returned = y[:2].to("cpu"), here()
        assert lines(x) == (made, None)
        assert lines(y) == lines(y.view(-1)) == (made, moved)
        assert lines(back) == (made, returned)
        assert lines(y + 1) == (here(), None)


def test_of_older_tensors_the_move_is_known() -> None:
    with emulate("cuda"):
        x = torch.ones(3)
        with Tracing():
            assert lines(x.to("cuda")) == (None, here())
            assert lines(torch.tensor(x, device="cuda")) == (None, here())


def test_a_model_is_moved_where_it_is_moved() -> None:
    with emulate("cuda"), Tracing():
        model, made = nn.Sequential(nn.Linear(2, 2)), here()
        model.to("cuda")
        moved = here() - 1
        assert lines(model[0].weight) == (made, moved)


def test_an_error_of_the_emulation_tells_both() -> None:
    with emulate("cuda"), Tracing():
        x, made = torch.ones(3), here()
        y, moved = x.cuda(), here()
        with pytest.raises(RuntimeError) as caught:
            y + x
    facts = caught.value.devlint_operands  # type: ignore[attr-defined]
    assert [(o.site.line, o.moved and o.moved.line) for o in facts] == [
        (made, moved), (made, None),
    ]  # fmt: skip


# --- transfers


def whole(log: TransferLog) -> list[tuple[int, int, int, dict[str, int]]]:
    return [(line.waits, line.copies, line.bytes, dict(line.what)) for line in log.lines]


ALL = {
    **{name: row[0] for name, row in COPIES.items()},
    **{name: row[0] for name, row in WAITS.items() if name != "synchronize"},
    **NEITHER,
}


@pytest.mark.parametrize("name", ALL)
def test_an_emulation_with_a_log_notes_what_a_tracing_notes(name: str) -> None:
    log, counted = TransferLog(), TransferLog()
    with emulate("cuda", count=2, transfers=log):
        with log.paused():
            x = torch.arange(100_000, dtype=torch.float32).reshape(1000, 100) + 1
            y = x.cuda()
            counts = torch.ones(1000, dtype=torch.int64).cuda()
            names = Named(x, y, counts.sum(), y > 5, counts)
        with Tracing(counted):
            ALL[name](names)
    assert whole(counted) == whole(log)


@pytest.mark.parametrize("first", ["emulation", "tracing"])
def test_a_log_that_is_given_twice_notes_once(first: str) -> None:
    log = TransferLog()
    outer, inner = emulate("cuda", transfers=log), Tracing(log)
    both: tuple[Any, Any] = (outer, inner) if first == "emulation" else (inner, outer)
    with both[0], both[1]:
        torch.ones(3).cuda().sum().item()
    assert whole(log) == [(2, 1, 12, {"cpu to cuda:0": 1, "item": 1})]


@pytest.mark.parametrize("first", ["emulation", "tracing"])
def test_an_emulation_notes_in_the_log_of_a_tracing(first: str) -> None:
    log = TransferLog()
    outer, inner = emulate("cuda"), Tracing(log)
    both: tuple[Any, Any] = (outer, inner) if first == "emulation" else (inner, outer)
    with both[0], both[1]:
        x = torch.ones(3).cuda()
        x.sum().item()
        torch.cuda.synchronize()
    assert [(line.waits, line.copies) for line in log.lines] == [(1, 1), (1, 0), (1, 0)]
    with emulate("cuda") as emulation:
        torch.ones(3).cuda().sum().item()
    assert emulation.transfers is None
    assert log.as_record()["waits"] == 3


def test_tracings_that_overlap_leave_no_log_behind() -> None:
    first, second = Tracing(), Tracing()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    with emulate("cuda"):
        torch.ones(3).cuda().sum().item()
    second.__exit__()
    with emulate("cuda"):
        torch.ones(3).cuda().sum().item()
    assert first.log.lines == []
    assert second.log.as_record()["waits"] == 2


def test_an_emulation_is_left_as_it_was() -> None:
    with emulate("cuda"):
        with Tracing() as tracing:
            torch.ones(3).cuda().sum().item()
        noted = tracing.log.as_record()["waits"]
        torch.ones(3).cuda().sum().item()
        assert repr(torch.ones(1).cuda()) == "tensor([1.], device='cuda:0')"
        assert tracing.log.as_record()["waits"] == noted == 2


class Storage:
    """On an accelerator that this machine hasn't got."""

    device = torch.device("cuda:0")

    def nbytes(self) -> int:
        return 12

    def is_pinned(self) -> bool:
        return False


def test_what_no_function_of_tensors_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for a device as such, and copying storages to save them."""
    base: Any = torch.storage._StorageBase
    for owner, name in ((torch.cuda, "synchronize"), (torch.cuda.Event, "synchronize")):
        monkeypatch.setattr(owner, name, lambda *args: "done")
    monkeypatch.setattr(base, "cpu", lambda storage: "copied")
    with Tracing() as tracing:
        assert torch.cuda.synchronize() == "done"
        assert torch.cuda.Event.synchronize(None) == "done"  # type: ignore[arg-type]
        assert base.cpu(Storage()) == "copied"
    assert sorted(whole(tracing.log)) == [
        (1, 0, 0, {"synchronize": 1}),
        (1, 0, 0, {"synchronize": 1}),
        (1, 1, 12, {"cuda:0 to cpu": 1}),
    ]
    assert torch.cuda.synchronize() == "done"
    assert tracing.log.as_record()["waits"] == 3


def test_on_the_host_alone_nothing_is_noted() -> None:
    with Tracing() as tracing:
        x = torch.rand(3, 3)
        x.sum().item(), x.tolist(), x[x > 0.5], repr(x), x.numpy(), x.cpu(), x.copy_(x + 1)
        torch.save(x, io.BytesIO())
    assert not tracing.log


# --- nothing changes


def trained(model: nn.Module, x: Tensor) -> list[Tensor]:
    """Losses, gradients and weights of some steps."""
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        found.append(loss.detach())
    return [*found, *(each for p in model.parameters() for each in (p.detach(), p.grad))]


class Checkpointed(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.inner, self.outer, self.reentrant = nn.Linear(8, 16), nn.Linear(16, 8), reentrant

    def forward(self, x: Tensor) -> Tensor:
        def block(x: Tensor) -> Tensor:
            return F.dropout(self.outer(self.inner(x).tanh()), 0.3)

        out: Tensor = checkpoint(block, x, use_reentrant=self.reentrant)
        return out


@groups_end_last()
def distributed(tmp_path: Path) -> list[Tensor]:
    file = tmp_path / f"rendezvous-{len(list(tmp_path.iterdir()))}"
    dist.init_process_group("gloo", init_method=file.as_uri(), rank=0, world_size=1)
    try:
        model = nn.parallel.DistributedDataParallel(nn.Linear(8, 8))
        return trained(model, torch.randn(4, 8))
    finally:
        dist.destroy_process_group()


def without_training() -> list[Tensor]:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).eval()
    x = torch.randn(2, 5, 16)
    with torch.no_grad():
        return [model(x), model.layers[0].self_attn(x, x, x)[0]]  # type: ignore[union-attr,operator]


def transformed() -> list[Tensor]:
    weights = {"weight": torch.randn(3, 3), "bias": torch.zeros(3)}
    return [
        torch.vmap(lambda a, b: (a @ b).sum().tanh())(torch.randn(3, 4, 4), torch.randn(3, 4, 4)),
        torch.func.grad(lambda a: (a**2).sum())(torch.randn(3)),
        torch.func.jacrev(torch.sin)(torch.randn(3)),
        torch.func.functional_call(nn.Linear(3, 3), weights, (torch.randn(2, 3),)),
    ]


def unusual_layouts() -> list[Tensor]:
    sparse = torch.eye(3).to_sparse()
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    quantized = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    return [
        sparse @ torch.ones(3, 3),
        sparse.to_sparse_csr().to_dense(),
        nested.to_padded_tensor(0.0),
        quantized.dequantize(),
        (torch.ones(3).as_subclass(Subclass) * 2).as_subclass(Tensor),
        nn.LSTM(3, 4)(torch.randn(2, 2, 3))[0],
    ]


def traced_by_torch() -> list[Tensor | str]:
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU()).eval()
    x = torch.randn(2, 8)
    traced = torch.jit.trace(model, x)
    exported = torch.export.export(model, (x,))
    return [traced.code, traced(x), str(exported.graph), exported.module()(x)]


PROGRAMS: dict[str, Callable[[Path], list[Any]]] = {
    "training": lambda tmp: trained(nn.Sequential(nn.Linear(8, 8), nn.GELU()), torch.randn(4, 8)),
    "a CNN": lambda tmp: trained(
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), torch.randn(2, 3, 8, 8)
    ),
    "checkpoints": lambda tmp: trained(Checkpointed(False), torch.randn(4, 8)),
    "reentrant checkpoints": lambda tmp: trained(
        Checkpointed(True), torch.randn(4, 8, requires_grad=True)
    ),
    "DistributedDataParallel": distributed,
    "inference": lambda tmp: without_training(),
    "function transforms": lambda tmp: transformed(),
    "unusual tensors": lambda tmp: unusual_layouts(),
    "torch.jit.trace and torch.export": lambda tmp: traced_by_torch(),
    "torch.compile": lambda tmp: trained(
        torch.compile(nn.Linear(8, 8), backend="aot_eager"), torch.randn(4, 8)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_results_are_the_same_to_the_bit(name: str, tmp_path: Path) -> None:
    def run() -> list[Any]:
        torch.manual_seed(0)
        return PROGRAMS[name](tmp_path)

    plain = run()
    with Tracing() as tracing:
        seen = run()
        assert [type(mode) for mode in stack()] == [TracingMode]
    assert not tracing.log
    assert len(plain) == len(seen)
    for a, b in zip(plain, seen, strict=True):
        assert torch.equal(a, b) if isinstance(a, Tensor) else a == b


def test_layers_take_their_fast_path_as_without() -> None:
    """Which asks whether a mode is on."""

    class Operators(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    with Operators() as plain:
        without_training()
    with Tracing(), Operators() as seen:
        without_training()
    assert any("_transformer_encoder_layer_fwd" in name for name in plain.names)
    assert plain.names == seen.names


class Shifted(nn.Module):
    """Keeps a plain tensor, which a strict guard follows through the first call."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.shift = torch.arange(16) / 16

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.encoder(x) + self.shift.to(x.device)
        return out


@pytest.mark.parametrize("mode", ["strict", "trace", "collect"])
@pytest.mark.parametrize("trains", [False, True])
def test_a_guarded_model_takes_its_fast_path_as_without(mode: str, trains: bool) -> None:
    with torch.set_grad_enabled(trains):
        model, x = Shifted().eval().requires_grad_(False), torch.randn(2, 5, 16)
        with torch.profiler.profile() as plain:
            expected = model(x)
        with guard(mode=mode), torch.profiler.profile() as seen:
            found = model(x)
    assert torch.equal(found, expected)
    names = [[event.name for event in run.events() or ()] for run in (plain, seen)]
    assert "aten::_transformer_encoder_layer_fwd" in names[0]
    assert names[0] == names[1]


def test_other_overrides_still_close_the_fast_path() -> None:
    with Tracing(), torch.overrides.BaseTorchFunctionMode():
        assert torch.overrides.has_torch_function((torch.ones(1),))
    with Tracing():
        assert torch.overrides.has_torch_function((torch.ones(1).as_subclass(Subclass),))
        assert not torch.overrides.has_torch_function((torch.ones(1), nn.Linear(1, 1).weight, None))


# --- compiled code


def test_compiled_code_is_not_compiled_again() -> None:
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()
    compiled = torch.compile(lambda x: (x.relu() + 1) * 2, backend=counter, fullgraph=True)
    x = torch.ones(3)
    compiled(x)
    with Tracing():
        compiled(x)
        y, line = x + 1, here()
        assert lines(y) == (line, None)
        late = torch.compile(lambda x: x.relu() - 1, backend=counter, fullgraph=True)
        late(x)
    compiled(x)
    late(x)
    assert counter.frame_count == 2
    assert not stack()


def test_after_an_error_in_compiled_code_tracing_goes_on() -> None:
    failing = torch.compile(lambda x: x @ torch.ones(7), backend="eager")
    with Tracing():
        with pytest.raises(Exception, match=r"."):
            failing(torch.ones(2, 2))
        assert lines(torch.ones(1)) == (here(), None)


# --- threads and the engine


def test_threads_that_start_meanwhile_are_traced() -> None:
    made: dict[str, Any] = {}

    def work() -> None:
        made["x"], made["line"] = torch.ones(2), here()

    with Tracing():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert lines(made["x"]) == (made["line"], None)


def test_a_thread_that_goes_on_is_traced_no_more() -> None:
    made: dict[str, Any] = {}
    go_on = threading.Event()

    def work() -> None:
        go_on.wait(10)
        made["x"], made["y"] = torch.ones(2), torch.ones(2).cpu()

    with Tracing():
        thread = threading.Thread(target=work)
        thread.start()
    go_on.set()
    thread.join()
    assert lines(made["x"]) == lines(made["y"]) == (None, None)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_not_traced() -> None:
    with Tracing():
        child = os.fork()
        if not child:
            os._exit(0 if lines(torch.ones(2)) == (None, None) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert lines(torch.ones(2)) == (here(), None)


class Doubled(torch.autograd.Function):
    """Makes a tensor in its backward pass."""

    made: list[tuple[Tensor, int]]

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        Doubled.made.append((torch.ones(1), here()))
        return gradient * 2


@pytest.mark.parametrize(
    "run",
    [
        lambda x: Doubled.apply(x).sum().backward(),
        lambda x: torch.autograd.backward(Doubled.apply(x).sum()),
        lambda x: torch.autograd.grad(Doubled.apply(x).sum(), x),
    ],
)
def test_the_backward_pass_is_seen(run: Callable[[Tensor], object]) -> None:
    Doubled.made = []
    with Tracing():
        run(torch.ones(2, requires_grad=True))
        assert len(stack()) == 1
    ((made, line),) = Doubled.made
    assert lines(made) == (line, None)


# --- entering and leaving


@pytest.fixture
def untouched() -> Iterator[None]:
    """All that a tracing changes of torch is as it was."""
    import torch._dynamo.eval_frame as dynamo

    def state() -> list[object]:
        owners: list[tuple[Any, str]] = [
            (torch, "compile"), (torch, "from_numpy"), (torch, "frombuffer"),
            (torch._utils, "_rebuild_tensor"),
            (torch.autograd, "_engine_run_backward"), (torch.overrides, "has_torch_function"),
            (torch.cuda, "synchronize"), (threading.Thread, "_bootstrap_inner"),
            (torch.storage._StorageBase, "cpu"), (torch.cuda.Event, "synchronize"),
            (dynamo, "set_eval_frame"),
        ]  # fmt: skip
        return [getattr(owner, name) for owner, name in owners]

    before = state()
    yield
    assert state() == before
    assert not stack()


@pytest.mark.usefixtures("untouched")
def test_nesting() -> None:
    with Tracing() as outer:
        with Tracing():
            x, line = torch.ones(2), here()
        with outer:
            assert len(stack()) == 1
        assert lines(torch.ones(2)) == (here(), None)
    assert lines(x) == (line, None)


@pytest.mark.usefixtures("untouched")
def test_leaving_in_any_order() -> None:
    first, second = Tracing(), Tracing()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert lines(torch.ones(2)) == (here(), None)
    second.__exit__(None, None, None)
    assert lines(torch.ones(2)) == (None, None)


@pytest.mark.usefixtures("untouched")
def test_an_error_goes_through() -> None:
    with pytest.raises(ValueError, match="mine"), Tracing():
        raise ValueError("mine")


@pytest.mark.usefixtures("untouched")
def test_threads_enter_by_themselves() -> None:
    tracing = Tracing()
    failed = []

    def work() -> None:
        for _ in range(20):
            with tracing:
                if lines(torch.ones(2))[0] is None:
                    failed.append(here())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def elsewhere(thread: ThreadPoolExecutor, do: Callable[[], T]) -> T:
    return thread.submit(do).result()


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    """A thread that runs before any tracing begins."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(here).result()
        yield pool


def test_leaving_in_another_thread_ends_it(thread: ThreadPoolExecutor) -> None:
    tracing = Tracing()
    tracing.__enter__()
    elsewhere(thread, lambda: tracing.__exit__(None, None, None))
    assert not elsewhere(thread, stack)
    x = torch.ones(2).to(torch.float64)
    assert lines(x) == (None, None)
    with tracing:
        assert len(stack()) == 1
        assert lines(torch.ones(2)) == (here(), None)
    assert not stack()


@pytest.mark.usefixtures("untouched")
def test_who_entered_elsewhere_may_enter_here(thread: ThreadPoolExecutor) -> None:
    tracing = Tracing()
    elsewhere(thread, tracing.__enter__)
    tracing.__exit__(None, None, None)
    with tracing:
        assert lines(torch.ones(2)) == (here(), None)
        assert not elsewhere(thread, lambda: lines(torch.ones(2))[0])
    with Tracing():
        elsewhere(thread, lambda: Tracing().__enter__().__exit__(None, None, None))
    assert not elsewhere(thread, stack)


@pytest.mark.usefixtures("untouched")
def test_leaving_more_often_than_entering() -> None:
    tracing = Tracing()
    for _ in range(2):
        with tracing:
            pass
        tracing.__exit__(None, None, None)
    with tracing:
        assert lines(torch.ones(2)) == (here(), None)


@pytest.mark.usefixtures("untouched")
def test_a_thread_that_is_traced_may_enter_too() -> None:
    tracing, depths = Tracing(), []

    def work() -> None:
        with tracing:
            depths.append(len(stack()))
        depths.append(len(stack()))

    with tracing:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    assert depths == [1, 1]


# --- memory


def test_no_tensor_lives_longer() -> None:
    with emulate("cuda"), Tracing():
        x = torch.ones(1000)
        kept = [weakref.ref(x), weakref.ref(x.untyped_storage()), weakref.ref(x.cuda())]
        assert kept[2]() is None
        del x
        assert [each() for each in kept] == [None] * 3


def test_nothing_grows() -> None:
    model, x = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)), torch.ones(4, 8)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        loss.item()

    def count() -> int:
        gc.collect()
        return len(gc.get_objects())

    with emulate("cuda"), Tracing():
        model.cuda()
        for _ in range(20):
            step()
        before = count()
        for _ in range(200):
            step()
        assert count() - before < 50


def test_a_model_can_be_copied_and_saved_as_before() -> None:
    with Tracing():
        model = nn.Linear(2, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            copied, file = copy.deepcopy(model), io.BytesIO()
            torch.save(model.state_dict(), file)
    assert torch.equal(copied.weight, model.weight)
    assert b"devlint" not in file.getvalue()


class Broken(Tensor):
    """Says nothing of its parts."""

    def __tensor_flatten__(self) -> Any:
        raise KeyError("parts")


def test_a_subclass_that_cannot_be_asked_is_left_alone() -> None:
    with Tracing():
        x = torch.ones(2).as_subclass(Broken)
        y = (x + 1).to(torch.float64)
        assert y.tolist() == [2.0, 2.0]
        assert lines(y) == (None, None)


def test_files_of_the_program() -> None:
    assert transfers._is_programs(__file__)
    assert not transfers._is_programs(torch.__file__)
    assert not transfers._is_programs(threading.__file__)
    assert not transfers._is_programs("<eval_with_key>.1")


def test_a_copy_in_generated_code_is_its_callers() -> None:
    class Fetching(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x + 1).cpu()

    log = TransferLog()
    with emulate("cuda", transfers=log):
        generated, x = torch.fx.symbolic_trace(Fetching()), torch.ones(2).cuda()
        generated(x)
        line = here() - 1
    assert (__file__, line) in [(each.site.file, each.site.line) for each in log.lines]
