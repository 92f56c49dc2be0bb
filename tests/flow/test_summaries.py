"""A function runs once for each version of what calls bring, and each call gets what is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from devlint import torchapi
from devlint.flow.bodies import functions, statements
from devlint.flow.bodies.reachable import left_behind
from devlint.flow.domain.state import Heap, Object
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.facts import Join
from devlint.flow.facts.meetings import met
from devlint.flow.interpreter import interpret
from devlint.flow.surroundings import Text
from devlint.source.lower import lower
from devlint.source.spots import File, span_of

FILENAME = "/nowhere/here/example.py"


def joins(source: str) -> list[tuple[int, list[str]]]:
    """The rows where tensors meet, each with their places."""
    file = File(FILENAME, source)
    facts = interpret(Text(lower(source, FILENAME)), torchapi.load())
    places = {
        span.row: [str(each.device) for each in met(fact)]
        for fact in facts
        if isinstance(fact, Join) and (span := span_of(fact.node.origin, file))
    }
    return sorted(places.items())


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of functions that run inside of calls."""
    seen: list[str] = []
    run: Callable[..., Any] = functions._run_here

    def counted(frame: Any, call: Any) -> Any:
        seen.append(call.closure.name)
        return run(frame, call)

    monkeypatch.setattr(functions, "_run_here", counted)
    return seen


def test_the_same_call_runs_once(runs: list[str]) -> None:
    joins("import torch\ndef make(n):\n    return torch.zeros(n)\n" + "x = make(3)\n" * 5)
    assert runs == ["make"]


def test_a_call_with_something_else_runs_again(runs: list[str]) -> None:
    source = "import torch\ndef make(d):\n    return torch.zeros(3, device=d)\n"
    assert joins(f"{source}x = make('cuda')\ny = make('cpu')\nz = x + y\n") == [
        (6, ["cuda", "cpu"])
    ]
    assert runs == ["make", "make"]


PLACED = """
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.by = nn.Parameter(torch.zeros(3))

def place(module):
    module.cuda()
    return module

first, second = Scale(), Scale()
"""


def test_each_call_moves_its_own_object(runs: list[str]) -> None:
    """`place` of the second one is answered, and moves the second one."""
    found = joins(f"{PLACED}place(first)\nplace(second)\ny = second.by + torch.zeros(3)\n")
    assert [places for _, places in found] == [["cuda", "cpu"]]
    assert runs.count("place") == 1


def test_each_call_makes_an_object_of_its_own(runs: list[str]) -> None:
    source = (
        PLACED + "def new():\n    return Scale()\na = new()\nb = new()\na.cuda()\nx = a.by + b.by\n"
    )
    assert [places for _, places in joins(source)] == [["cuda", "cpu"]]
    assert runs.count("new") == 1


def test_names_around_a_function_count(runs: list[str]) -> None:
    """What a function finds in its file, or in the function around it, is brought as well."""
    own = (
        PLACED
        + "def read():\n    return first.by\na = read()\nfirst.cuda()\nb = read()\nx = a + b\n"
    )
    assert [places for _, places in joins(own)] == [["cpu", "cuda"]]
    around = """
import torch
def outer(d):
    def inner():
        return torch.zeros(3, device=d)
    return inner()
x = outer("cuda") + outer("cpu")
"""
    assert [places for _, places in joins(around)] == [["cuda", "cpu"]]


def test_what_is_told_of_one_call_is_told_of_the_next(runs: list[str]) -> None:
    """A call in which something goes wrong has no summary: each of them is to be shown."""
    source = """
import torch
def add(a, b):
    return a + b
def f():
    x = torch.zeros(3, device="cuda")
    return add(x, torch.zeros(3))
def g():
    x = torch.zeros(3, device="cuda")
    return add(x, torch.zeros(3))
"""
    assert joins(source) == [(4, ["cuda", "cpu"])]
    assert runs == ["add", "add"]


@pytest.mark.parametrize("depth", [3, 6, 12])
def test_calls_are_followed_however_deep(depth: int) -> None:
    chain = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n" for n in range(depth))
    source = f"import torch\n{chain}def f{depth}(x):\n    return x.cuda()\n"
    found = joins(source + "y = f0(torch.zeros(3)) + torch.zeros(3)\n")
    assert [places for _, places in found] == [["cuda", "cpu"]]


def test_calls_are_followed_however_many() -> None:
    """Each of these runs another body: together some thousands of statements."""
    many = "".join(
        f"def f{n}(x):\n" + "    x = x * 2\n" * 50 + "    return x\n" for n in range(100)
    )
    calls = "".join(f"x = f{n}(x)\n" for n in range(100))
    source = (
        f"import torch\n{many}x = torch.zeros(3, device='cuda')\n{calls}y = x + torch.zeros(3)\n"
    )
    assert joins(source)[-1][1] == ["cuda", "cpu"]


def test_functions_that_call_each_other_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    run = statements.run

    def counted(frame: Any, body: Any) -> None:
        nonlocal count
        count += 1
        run(frame, body)

    monkeypatch.setattr(functions, "run", counted)
    names = range(12)
    body = "".join(
        f"def f{n}(x):\n" + "".join(f"    x = f{other}(x)\n" for other in names) + "    return x\n"
        for n in names
    )
    joins(f"import torch\n{body}y = f0(torch.zeros(3))\n")
    assert count < 1000  # of the ways from one to the next there are millions


def test_what_nobody_can_find_is_left_behind() -> None:
    before = Heap({("old", ()): Object()})
    after = before.fork()
    held, holder, lost = ("held", ()), ("holder", ()), ("lost", ())
    after[held], after[lost] = Object(), Object()
    after[holder] = Object(items=(Value(Kind.LIST, data=held),))
    after["child", 0, holder] = Object()
    value = Value(Kind.LIST, data=holder)
    assert left_behind(before, after, value) == [held, holder, ("child", 0, holder)]
    after["old", ()] = Object(element=Value(Kind.LIST, data=lost))
    assert lost in left_behind(before, after, NOTHING)
    assert holder not in left_behind(before, after, NOTHING)
