"""Copies to the host that are read before they have arrived are told, and no others."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import devlint
from devlint.runtime.operands import Site
from devlint.runtime.transfers import TransferLog
from devlint.runtime.virtual.arrivals import ARRIVALS


def begun(x: Tensor) -> Tensor:
    return x.to("cpu", non_blocking=True)


def into_pinned(x: Tensor) -> Tensor:
    return torch.empty(x.shape, pin_memory=True).copy_(x, non_blocking=True)


def polled(x: Tensor) -> Any:
    done, host = torch.cuda.Event(), begun(x)
    done.record()
    while not done.query():
        pass
    return host.sum()


def synchronized(wait: Callable[[], object]) -> Callable[[Tensor], Any]:
    def run(x: Tensor) -> Any:
        host = begun(x)
        wait()
        return host.sum().item()

    return run


def with_an_event(x: Tensor) -> Any:
    host, event = begun(x), torch.cuda.Event()
    event.record()
    event.synchronize()
    return host.tolist()


def array_that_waits(x: Tensor) -> Any:
    array = begun(x).numpy()
    torch.cuda.synchronize()
    return array.sum()


def array_that_does_not(x: Tensor) -> Any:
    return begun(x).numpy().sum()


def array_that_stays(x: Tensor) -> Any:
    x.kept = begun(x).numpy()  # type: ignore[attr-defined]
    return x.kept.sum()  # type: ignore[attr-defined]


def filled(x: Tensor) -> Any:
    host = begun(x)
    host[0] = 3.0


def of_a_module(x: Tensor) -> Any:
    model = nn.Linear(4, 4).cuda()
    model.to("cpu", non_blocking=True)
    return model(torch.ones(1, 4))


def again(x: Tensor) -> Any:
    host = into_pinned(x)
    host.copy_(x, non_blocking=True)
    torch.cuda.synchronize()
    return host + 1


READ: dict[str, Callable[[Tensor], Any]] = {
    "item": lambda x: begun(x.sum()).item(),
    "tolist": lambda x: begun(x).tolist(),
    "print": lambda x: repr(begun(x)),
    "format": lambda x: f"{begun(x.sum()):.1f}",
    "if": lambda x: 1 if begun(x.sum()) else 2,
    "arithmetic": lambda x: begun(x) + 1,
    "comparison": lambda x: begun(x) > 1,
    "a mask": lambda x: begun(x)[torch.tensor([True, False, True, True])],
    "indices": lambda x: begun(x)[[0, 1]],
    "one element": lambda x: begun(x)[0].item(),
    "a list of copies": lambda x: torch.stack([begun(x), begun(x)]),
    "a number beside the accelerator's": lambda x: x * begun(x.sum()),
    "a copy of the copy": lambda x: begun(x).clone(),
    "another dtype": lambda x: begun(x).to(torch.float64),
    "copied on the host": lambda x: torch.empty(4).copy_(begun(x)),
    "pinned memory": lambda x: into_pinned(x).sum(),
    "an array": array_that_does_not,
    "an array that stays": array_that_stays,
    "numpy's own function": lambda x: np.asarray(begun(x)).max(),
    "an array in another dtype": lambda x: np.asarray(begun(x), dtype="float64").max(),
    "written": filled,
    "in place": lambda x: begun(x).add_(1),
    "a module's parameters": of_a_module,
}

SILENT: dict[str, Callable[[Tensor], Any]] = {
    "a copy that waits": lambda x: x.to("cpu").item() if x.dim() == 0 else x.cpu().tolist(),
    "synchronize": synchronized(lambda: torch.cuda.synchronize()),
    "a stream": synchronized(lambda: torch.cuda.current_stream().synchronize()),
    "an event": with_an_event,
    "polled": polled,
    "the stream is asked": synchronized(lambda: torch.cuda.current_stream().query()),
    "another read waits": lambda x: (begun(x), x.sum().item())[0].sum(),
    "another copy waits": lambda x: (begun(x), x.cpu())[0].sum(),
    "a copy to the accelerator waits": lambda x: (begun(x), torch.ones(2).cuda())[0].sum(),
    "a mask on the accelerator": lambda x: (begun(x), x[x > 0])[0].sum(),
    "never read": begun,
    "shapes and views": lambda x: (begun(x)[:2].view(2, 1).shape, begun(x).detach().is_pinned()),
    "made like it": lambda x: torch.zeros_like(begun(x)) + begun(x).new_ones(4),
    "back to the accelerator": lambda x: begun(x).cuda(non_blocking=True) + x,
    "memory that isn't pinned": lambda x: torch.empty(4).copy_(x, non_blocking=True).sum(),
    "memory that has gaps": lambda x: (
        torch.empty(8, pin_memory=True)[::2].copy_(x, non_blocking=True).sum()
    ),
    "to the accelerator": lambda x: torch.ones(4).pin_memory().to("cuda", non_blocking=True) + x,
    "on the host": lambda x: torch.ones(3).to("cpu", non_blocking=True).sum().item(),
    "nothing in it": lambda x: begun(x[:0]).tolist(),
    "an array that waits": array_that_waits,
    "the same memory again": again,
}


def told(
    action: Callable[[Tensor], Any], mode: str = "trace", kind: str = "cuda"
) -> list[warnings.WarningMessage]:
    """The warnings about early reads that an action has."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with devlint.emulate(kind):
            x = torch.arange(4.0, device=kind)
            with devlint.guard(mode=mode):
                action(x)
    return [each for each in found if each.category is devlint.EarlyReadWarning]


@pytest.mark.parametrize("name", READ)
def test_what_is_read_early_is_told(name: str) -> None:
    (warning, *others) = told(READ[name])
    assert warning.filename == __file__
    assert "has arrived: non_blocking=True only starts it" in str(warning.message)
    assert "[DEV503]" in str(warning.message)
    assert not others or name == "a module's parameters"


@pytest.mark.parametrize("name", SILENT)
def test_what_has_arrived_or_is_not_read_is_not(name: str) -> None:
    assert told(SILENT[name]) == []


@pytest.mark.parametrize("mode", ["off", "explain", "strict"])
def test_other_modes_say_nothing(mode: str) -> None:
    assert told(READ["item"], mode) == []


@pytest.mark.parametrize("kind", ["cuda", "xpu", "mps"])
def test_each_kind_waits_in_its_own_way(kind: str) -> None:
    (warning,) = told(READ["arithmetic"], kind=kind)
    assert f"torch.{kind}.synchronize()" in str(warning.message)
    wait = synchronized(lambda: getattr(torch, kind).synchronize())
    assert told(wait, kind=kind) == []


def test_an_emulation_with_a_log_of_its_own_waits_as_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with devlint.guard(mode="trace"), devlint.emulate("cuda", transfers=TransferLog()):
            SILENT["synchronize"](torch.ones(4, device="cuda"))


def test_it_is_told_once_in_a_loop_and_goes_on() -> None:
    seen = []

    def loop(x: Tensor) -> None:
        for _ in range(3):
            seen.append(begun(x).sum().item())  # noqa: PERF401

    assert len(told(loop)) == 1
    assert seen == [6.0] * 3


def test_collected_with_the_place_and_the_count() -> None:
    def loop(x: Tensor) -> None:
        for _ in range(3):
            host = begun(x)
            host.tolist()

    with devlint.emulate("cuda"), devlint.guard(mode="collect") as guard:
        loop(torch.ones(4, device="cuda"))
    ((mismatch, count),) = guard.collected
    assert (count, mismatch.code, mismatch.outcome) == (3, "DEV503", "noted")
    assert (mismatch.file, mismatch.argument) == (__file__, "host")
    assert mismatch.line == loop.__code__.co_firstlineno + 3


SCRIPT = """\
import torch

def best(scores):
    index = scores.argmax().to("cpu", non_blocking=True)
    return index.item()

print(best(torch.tensor([1.0, 5.0, 2.0], device="cuda")))
"""


def test_a_program_is_warned_and_does_what_it_does(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "devlint", "run", "--emulate", "cuda", "--guard", "trace"]
    run = subprocess.run(
        [*command, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stdout == "1\n"
    assert run.stderr.startswith(f"{tmp_path / 'train.py'}:5: EarlyReadWarning: index is read")
    assert 'copied at  train.py:4  index = scores.argmax().to("cpu", non_blocking' in run.stderr
    assert "remove non_blocking=True from the copy" in run.stderr
    assert "no device mismatch" not in run.stderr


# --- real accelerators


def test_a_real_accelerator_is_asked_whether_the_copy_has_come() -> None:
    host, answers = torch.ones(2), [False, True]
    ARRIVALS.begin(host, torch.device("cuda:0"), Site(__file__, 1, "", 1), lambda: answers.pop(0))
    assert ARRIVALS.of(host.view(1, 2)) is not None
    assert ARRIVALS.of(host) is None
