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


# --- constants that nothing hangs on -------------------------------------------------------------

MAKE = "import torch\ndef make(n):\n    return torch.zeros(n, 2)\n"


def test_calls_that_differ_in_a_number_run_once_more_for_all(runs: list[str]) -> None:
    calls = "".join(f"x = make({number})\n" for number in range(3, 9))
    assert joins(f"{MAKE}{calls}y = torch.ones(2, device='cuda')\nz = x + y\n") == [
        (11, ["cpu", "cuda"])
    ]
    assert runs == ["make", "make"]


def test_a_call_gets_its_own_constant() -> None:
    source = "import torch\ndef same(i, name):\n    return i\n"
    calls = "".join(f"d = torch.device('cuda', same({i}, 'n{i}'))\n" for i in range(4))
    meeting = "x = torch.ones(2, device=d)\ny = torch.ones(2, device='cuda:1')\nz = x + y\n"
    assert joins(f"{source}{calls}{meeting}") == [(10, ["cuda:3", "cuda:1"])]


def test_what_an_object_keeps_of_a_constant_is_its_own() -> None:
    source = """
import torch
class Rank:
    def __init__(self, number, label):
        self.number, self.label = number, label
    def device(self):
        return torch.device("cuda", self.number)
first, second, third = Rank(0, "a"), Rank(1, "b"), Rank(2, "c")
x = torch.ones(2, device=third.device())
y = torch.ones(2, device=second.device())
z = x + y
"""
    assert joins(source) == [(11, ["cuda:2", "cuda:1"])]


def test_what_hangs_on_a_constant_is_found_for_each(runs: list[str]) -> None:
    source = """
import torch
def make(kind):
    if kind == "fast":
        return torch.zeros(2, device="cuda")
    return torch.zeros(2)
a, b, c = make("slow"), make("exact"), make("fast")
x = a + b
y = b + c
"""
    assert joins(source) == [(9, ["cpu", "cuda"])]
    assert runs == ["make"] * 4  # the second one without its constant, in vain


def test_the_items_of_a_list_are_constants_too(runs: list[str]) -> None:
    source = "import torch\ndef make(sizes):\n    return torch.zeros(sizes)\n"
    calls = "".join(f"x = make([2, {number}])\n" for number in range(3, 8))
    joins(f"{source}{calls}")
    assert runs == ["make", "make"]


def test_a_function_that_is_only_noted_is_a_constant(runs: list[str]) -> None:
    source = "def note(function):\n    name = function.__name__\n    return function\n"
    functions = "".join(f"@note\ndef f{number}():\n    return {number}\n" for number in range(5))
    joins(f"{source}{functions}x = f3()\n")
    assert runs == ["note", "note", "f3"]


@pytest.mark.parametrize("body", ["return function()", "return later(function)"])
def test_a_function_that_is_called_is_none(body: str) -> None:
    source = f"""
import torch
def later(function):
    return function()
def call(function):
    {body}
def slow():
    return torch.zeros(2)
def exact():
    return torch.ones(2)
def fast():
    return torch.zeros(2, device="cuda")
x = call(slow) + call(exact)
y = call(exact) + call(fast)
"""
    assert joins(source) == [(14, ["cpu", "cuda"])]


def test_numbers_that_differ_in_type_are_different_constants(runs: list[str]) -> None:
    joins(f"{MAKE}x = make(1)\ny = make(1.0)\nz = make(True)\n")
    assert runs == ["make", "make", "make"]


ON_CUDA = "torch.zeros(2, device='cuda')"
STRINGS, NUMBERS = ("'a'", "'b'", "'c'"), ("0", "1", "2")


def chosen(test: str) -> str:
    """The body of a function that makes something on CUDA if a test holds."""
    return f"if {test}:\n        return {ON_CUDA}\n    return torch.zeros(2)"


DECIDES = {
    "in": (chosen("k in ('c', 'd')"), STRINGS),
    "not-in": (chosen("k not in ('a', 'b')"), STRINGS),
    "match": (f"match k:\n        case 'c':\n            return {ON_CUDA}\n    return 1", STRINGS),
    "starts": (chosen("k.startswith('c')"), STRINGS),
    "more": (chosen("k > 1"), NUMBERS),
    "is": (chosen("k == 2"), NUMBERS),
    "truth": (chosen("not k"), ("1", "2", "0")),
    "item": (f"return [torch.zeros(2), torch.ones(2), {ON_CUDA}][k]", NUMBERS),
    "entry": (f"return {{'a': torch.zeros(2), 'b': torch.ones(2), 'c': {ON_CUDA}}}[k]", STRINGS),
    "got": (f"return {{'c': {ON_CUDA}}}.get(k, torch.zeros(2))", STRINGS),
    "stored": (f"d = {{'c': 1}}\n    d[k] = {ON_CUDA}\n    return d['c']", STRINGS),
    "filled": ("return torch.zeros(2, device=f'cuda:{k}')", NUMBERS),
    "joined": ("return torch.zeros(2, device='cuda:' + k)", ("'0'", "'1'", "'2'")),
    "percent": ("return torch.zeros(2, device='cuda:%d' % k)", NUMBERS),
    "index": ("return torch.zeros(2).cuda(k)", NUMBERS),
    "device": ("return torch.zeros(2, device=torch.device('cuda', k))", NUMBERS),
    "choice": (f"return {ON_CUDA} if k == 'c' else torch.zeros(2)", STRINGS),
    "attribute": (
        f"o = Plain()\n    o.c = 1\n    setattr(o, k, {ON_CUDA})\n    return o.c",
        STRINGS,
    ),
}
USE = "x + torch.zeros(2, device='cpu') + torch.zeros(2, device='cuda:1')\n"


@pytest.mark.parametrize("name", DECIDES)
def test_a_constant_that_decides_is_asked_at_each_call(name: str) -> None:
    """What the last call gives doesn't hang on those before it."""
    body, constants = DECIDES[name]
    head = f"import torch\nclass Plain:\n    pass\ndef make(k):\n    {body}\n"
    alone = joins(f"{head}x = 0\nx = 0\nx = make({constants[-1]})\n{USE}")
    together = joins(head + "".join(f"x = make({each})\n" for each in constants) + USE)
    assert together == alone != []


FUNCTIONS_DECIDE = {
    "is": chosen("f is c"),
    "equals": chosen("f == c"),
    "in": chosen("f in (c, None)"),
    "name": chosen("f.__name__ == 'c'"),
    "listed": "fs = [f]\n    return fs[0]()",
    "kept": "o = Plain()\n    o.f = f\n    return o.f()",
    "inner": "def inner():\n        return f()\n    return inner()",
    "lambda": "return (lambda: f())()",
    "partial": "return functools.partial(f)()",
}


@pytest.mark.parametrize("name", FUNCTIONS_DECIDE)
def test_a_function_that_decides_is_asked_at_each_call(name: str) -> None:
    given = "def a():\n    return torch.zeros(2)\ndef b():\n    return torch.ones(2)\n"
    given += f"class Plain:\n    pass\ndef c():\n    return {ON_CUDA}\n"
    head = f"import functools\nimport torch\n{given}def make(f):\n    {FUNCTIONS_DECIDE[name]}\n"
    alone = joins(f"{head}x = 0\nx = 0\nx = make(c)\n{USE}")
    together = joins(f"{head}x = make(a)\nx = make(b)\nx = make(c)\n{USE}")
    assert together == alone != []


BELOW = """
import torch
from elsewhere import FAST, told

class Half:
    def __init__(self):
        self.made = make()

def make():
    return {made}

def outside(use_gpu):
    make()
    if use_gpu:
        make()
    if FAST:
        make()
    with told:
        make()
    Half()
"""


@pytest.mark.parametrize(
    ("made", "times"),
    [
        ("[1, 2]", 1),  # it asks for nothing
        ("torch.zeros(3)", 1),  # where that is made, the default alone tells
        ("1 if torch.cuda.is_available() else 2", 1),  # that is settled nowhere
        ("1 if FAST else 2", 2),  # one of the calls knows that
    ],
)
def test_a_call_answers_all_that_differ_in_what_it_has_not_asked(
    runs: list[str], made: str, times: int
) -> None:
    joins(BELOW.replace("{made}", made))
    assert runs.count("make") == times


def test_what_is_settled_where_a_call_stands_is_known_in_it() -> None:
    source = """
import torch
from elsewhere import GPU

def place():
    return torch.zeros(3, device="cuda") if GPU else torch.zeros(3)

def run():
    place() + torch.zeros(3)
    if GPU:
        place() + torch.zeros(3)
    else:
        place() + torch.zeros(3)
"""
    found = dict(joins(source))
    assert found[11] == ["cuda", "cpu"]
    assert 13 not in found  # both are on the host


def test_a_call_that_nobody_hears_tells_nothing_to_one_that_is_heard() -> None:
    source = """
import pytest
import torch

def mix(x):
    return x + torch.zeros(3)

def run():
    x = torch.zeros(3, device="cuda")
    with pytest.raises(RuntimeError):
        mix(x)
    mix(x)
"""
    assert (6, ["cuda", "cpu"]) in joins(source)
