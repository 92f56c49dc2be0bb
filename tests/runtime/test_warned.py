"""Warnings under an emulation or a guard name the lines that they name without."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import devlint


def of_python(device: str) -> None:
    F.softmax(torch.ones(2, 3, device=device))


def of_a_module(device: str) -> None:
    nn.Softmax()(torch.ones(2, 3, device=device))


def of_a_loss(device: str) -> None:
    F.mse_loss(torch.ones(3, 1, device=device), torch.ones(3, device=device))


def of_cpp(device: str) -> None:
    _ = torch.ones(2, 3, 4, device=device).T


def of_a_move(device: str) -> None:
    torch.ones(2, dtype=torch.complex64, device=device).to(torch.float32)


def of_a_gradient(device: str) -> None:
    _ = (torch.ones(2, device=device, requires_grad=True) * 2).grad


def of_a_factory(device: str) -> None:
    torch.range(0, 3, device=device)


def of_a_copy(device: str) -> None:
    torch.tensor(torch.ones(2, device=device))


CAUSES = [
    of_python, of_a_module, of_a_loss, of_cpp, of_a_move, of_a_gradient, of_a_factory, of_a_copy,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _always() -> Iterator[None]:
    """C++ says some of its warnings once in a process, unless it is told otherwise."""
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


def told(cause: Callable[[str], None], kind: str, mode: str = "off") -> list[tuple[str, int, str]]:
    """The places and words of the warnings that a cause has."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        emulation = nullcontext() if kind == "cpu" else devlint.emulate(kind)
        with emulation, devlint.guard(mode=mode):
            cause(kind)
    return [(each.filename, each.lineno, str(each.message)) for each in found]


@pytest.mark.parametrize("mode", ["off", "strict", "trace", "collect"])
@pytest.mark.parametrize("cause", CAUSES)
def test_a_warning_names_the_line_that_it_names_without(
    cause: Callable[[str], None], mode: str
) -> None:
    plain = told(cause, "cpu")
    assert len(plain) == 1
    assert told(cause, "cpu", mode) == told(cause, "cuda", mode) == plain


def test_what_shows_warnings_is_as_it_was_after_leaving_in_any_order() -> None:
    before = vars(warnings)["_showwarnmsg"]
    guard, emulation = devlint.guard(mode="trace"), devlint.emulate("cuda")
    guard.__enter__()
    emulation.__enter__()
    guard.__exit__()
    assert len(told(of_a_loss, "cpu")) == 1
    emulation.__exit__(None, None, None)
    assert vars(warnings)["_showwarnmsg"] is before


@pytest.mark.parametrize("emulated", [False, True])
def test_filters_see_the_programs_lines(emulated: bool) -> None:
    with (
        devlint.emulate("cuda") if emulated else nullcontext(),
        warnings.catch_warnings(record=True) as found,
    ):
        globals().pop("__warningregistry__", None)
        device = "cuda" if emulated else "cpu"
        warnings.simplefilter("default")
        for _ in range(3):
            of_python(device)
            of_a_loss(device)
            F.softmax(torch.ones(2, 3, device=device))
        assert len({each.lineno for each in found}) == len(found) == 3
        warnings.simplefilter("once")
        for _ in range(2):
            of_python(device)
        assert len(found) == 4
        warnings.filterwarnings("ignore", module=__name__.replace(".", r"\."))
        of_python(device)
        assert len(found) == 4
        warnings.filterwarnings("error", module=__name__.replace(".", r"\."))
        with pytest.raises(UserWarning, match="Implicit dimension"):
            of_python(device)
