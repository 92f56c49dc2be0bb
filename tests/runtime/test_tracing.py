"""Tracing: the lines where tensors come from, and nothing else about a program is different."""

from __future__ import annotations

import copy
import io
import linecache
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from devlint import emulate
from devlint.runtime import transfers
from devlint.runtime.tracing import Tracing
from devlint.runtime.transfers import TransferLog

T = TypeVar("T")


def stack() -> list[Any]:
    return torch.overrides._get_current_function_mode_stack()


def lines(tensor: Tensor, tracing: Tracing | None = None) -> tuple[int | None, int | None]:
    """Where a tensor was made, and where it was moved."""
    reader = (tracing or Tracing()).reader
    with torch._C.DisableTorchFunction():
        facts = reader.facts("x", tensor)
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
    with Tracing() as tracing:
        y = names["make"](nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(2))
    site = tracing.reader.facts("y", y).site
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
