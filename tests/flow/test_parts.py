"""Functions that are called in one place are parts of what calls them."""

from __future__ import annotations

import pytest

from devlint import torchapi
from devlint.config.settings import Settings
from devlint.flow.facts import Join
from devlint.flow.interpreter import interpret
from devlint.flow.surroundings import Text
from devlint.flow.syntax.parts import parts
from devlint.lint import check_source
from devlint.source.lower import lower


def found(text: str) -> list[tuple[str, int]]:
    """The codes and rows of what is reported in a file."""
    findings = check_source(text.encode(), "a.py", Settings())
    return [(each.code, each.span.row) for each in findings]


def meeting_in(text: str) -> set[str]:
    """The functions that run on their own in which something meets."""
    facts = interpret(Text(lower(text, "a.py")), torchapi.load())
    return {fact.context.running for fact in facts if isinstance(fact, Join)}


ONCE = """
import torch


def shifted(x: torch.Tensor):
    return _by_one(x)


def _by_one(x):
    return x + 1
"""


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (("", ""), ["_by_one"]),
        (("_by_one", "by_one"), []),
        (("return _by_one(x)", "return _by_one(x) + _by_one(x)"), []),
        (("return _by_one(x)", "return _by_one(*x)"), []),
        (("return _by_one(x)", "return map(_by_one, x)"), []),
        (("def _by_one", "@torch.no_grad()\ndef _by_one"), []),
        (("return x + 1", "return _by_one(x - 1)"), []),
    ],
)
def test_what_is_a_part(change: tuple[str, str], names: list[str]) -> None:
    module = lower(ONCE.replace(*change), "a.py")
    assert [each.name for each in parts(module.body)] == names


def test_a_part_knows_what_it_is_given() -> None:
    text = """
import torch


def table(rows: torch.Tensor, device):
    there = rows.to(device)
    return _rest(there, "cuda")


def _rest(there, name):
    there.cpu()
    return there.to(name)
"""
    assert ("DEV302", 11) in found(text)  # `there` is a tensor, so its move is lost
    assert ("DEV302", 11) not in found(text.replace("_rest", "rest"))


def test_what_a_part_does_with_an_argument_tells_what_that_is() -> None:
    text = """
import torch


def scores(rows, device):
    ticks = torch.arange(3)
    return _weighed(rows, ticks).to(rows.device)


def _weighed(rows, ticks):
    return rows.permute(1, 0) * ticks
"""
    assert found(text) == [("DEV203", 6)]
    assert found(text.replace(".permute(1, 0)", "")) == []


def test_a_part_does_not_run_beside_what_calls_it() -> None:
    text = """
import torch


def padded(rows: torch.Tensor, device):
    return _beside(rows).to(device)


def _beside(rows: torch.Tensor):
    return torch.cat([rows, torch.zeros(3)])
"""
    assert meeting_in(text) == {"padded"}
    assert meeting_in(text.replace("_beside", "beside")) == {"padded", "beside"}
