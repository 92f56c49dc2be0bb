"""Mistakes as people make them: what the guard says of each is right in five points."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from mistakes import Planted, grade, planted, proof, told
from mistakes_fixes import Place, applied, code_of, is_same

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="before Python 3.11 a line is known, not what is in it"
)

PLANTED = planted()
MODES = ("strict", "trace")

MISSES = frozenset(
    {
        "Outputs gathered on the CPU and one that is not",
        "A collate function that mixes devices",
        "A hook on a gradient",
    }
)
"""Where something is wrong."""

PAIRS = [(c, m) for c in PLANTED for m in MODES if not c.alone or m == "strict"]
"""A program in a process of its own costs seconds."""


def test_enough_is_right() -> None:
    titles = {case.title for case in PLANTED}
    assert len(titles) == len(PLANTED) >= 48
    assert titles >= MISSES
    assert len(MISSES) <= 0.1 * len(titles)


@pytest.mark.parametrize(("case", "mode"), PAIRS, ids=[f"{c.title} ({m})" for c, m in PAIRS])
def test_what_is_said_is_right(case: Planted, mode: str) -> None:
    said = told(case, case.files, mode)
    if case.title not in MISSES:
        assert grade(case, said, mode) == {}


@pytest.mark.parametrize(
    "case", [c for c in PLANTED if not c.alone], ids=[c.title for c in PLANTED if not c.alone]
)
def test_nothing_is_said_without_the_mistake(case: Planted) -> None:
    """The mode trace is strict as well."""
    assert told(case, case.repaired, "trace").error == ""


# --- where a value came from


def on_a_device(code: str) -> dict[str, str]:
    """What a traceback alone tells of a program: the lines of its explanation."""
    case = Planted("", {"train.py": f"import torch\n{code}"}, {})
    return dict(told(case, case.files, "device").lines)


UNSURE = {
    "one of two branches has set it": """
import sys
from dataclasses import replace
a = torch.ones(2, device="cuda")
if len(sys.argv) > 99:
    b = torch.ones(2)
else:
    b = torch.zeros(2)
a + b
""",
    "a function of Python has called": """
def add(b):
    return a + b
a = torch.ones(2, device="cuda")
list(map(add, [torch.ones(2)]))
""",
    "two methods set the attribute": """
class Mean:
    def __init__(self):
        self.value = torch.zeros(2)
    def reset(self):
        self.value = torch.ones(2)
    def add(self, x):
        return x + self.value
a = torch.ones(2, device="cuda")
mean = Mean()
mean.add(a)
""",
    "a function sets the name of the file": """
b = torch.zeros(2)
def change():
    global b
    b = torch.ones(2)
def add(a):
    return a + b
change()
add(torch.ones(2, device="cuda"))
""",
}


@pytest.mark.parametrize("why", UNSURE)
def test_what_is_not_sure_is_not_said(why: str) -> None:
    lines = on_a_device(UNSURE[why])
    assert "used at" in lines
    assert not {"made at", "set at"} & set(lines)


SURE = {
    "the loop has changed it": """
a, b = torch.ones(2, device="cuda"), 0
for i in range(2):
    if i:
        a + b
    b = torch.ones(2)  # this
""",
    "what it is an item of was filled later": """
a = torch.ones(2, device="cuda")
rows = []
rows.append(torch.ones(2))  # this
a + rows[0]
""",
    "through functions": """
def inner(x, y):
    return x + y
def outer(**kwargs):
    return inner(torch.ones(2, device="cuda"), kwargs["y"])
rows = torch.zeros(2)  # this
outer(y=rows)
""",
    "set again, and before": """
a = torch.ones(2, device="cuda")
b = torch.ones(3)  # this
with torch.no_grad():
    b = b[:2]
a + b
""",
    "in an attribute of a class": """
class Mean:
    def __init__(self):
        self.value = torch.zeros(2)  # this
    def add(self, x):
        self.value += x.cpu()
        return x + self.value
mean = Mean()
mean.add(torch.ones(2, device="cuda"))
""",
    "by a loop": """
for a, b in [(torch.ones(2, device="cuda"), torch.ones(2))]:  # this
    a = a * 2
    a + b
""",
}


@pytest.mark.parametrize("how", SURE)
def test_a_traceback_tells_where_a_value_came_from(how: str) -> None:
    lines = on_a_device(SURE[how])
    found = lines.get("made at") or lines.get("set at")
    assert found is not None
    assert found.endswith("# this")


# --- the judge


def test_a_fix_is_the_same_whatever_names_the_device() -> None:
    assert is_same("x = x.to(next(self.parameters()).device)", "x = x.to(...)")
    assert is_same("torch.zeros(3, device=x.device)", "mask = torch.zeros(3, device=...)")
    assert is_same(
        'self.register_buffer("m", ..., persistent=False)', 'self.register_buffer("m", f(2))'
    )
    assert is_same("x.cpu()", "y[x.to(...)]")
    assert not is_same("y = y.to(d)", "x = x.to(...)")
    assert not is_same("x", "x = x.to(...)")
    assert not is_same("torch.zeros(4, device=d)", "mask = torch.zeros(3, device=...)")
    assert code_of("move it first: x = x.to(y.device)  [DEV202]") == "x = x.to(y.device)"
    assert code_of("move it first") == ""


@pytest.mark.parametrize(
    ("before", "code", "after"),
    [
        ("def f(x):\n    g(x)\n", "x = x.to(d)", "def f(x):\n    x = x.to(d)\n    g(x)\n"),
        ("y\nm = z(3)\n", "z(3, device=d)", "y\nm = z(3, device=d)\n"),
        ("y\nm = z(3)\n", "m = z(3, device=d)", "y\nm = z(3, device=d)\n"),
        ("y\nx.to(d)\n", "x = x.to(d)", "y\nx = x.to(d)\n"),
        ("y\nself.m = z(3)\n", 's.register_buffer("m", ...)', None),
        ("y\ns.m = z(3)\n", 's.register_buffer("m", ...)', "y\ns.register_buffer('m', z(3))\n"),
        ("y\na(x.numpy())\n", "x.cpu().numpy()", "y\na(x.cpu().numpy())\n"),
    ],
)
def test_a_fix_is_done_to_the_text(before: str, code: str, after: str | None) -> None:
    found = next(applied({"t.py": before}, code, [Place("t.py", 2)]), None)
    assert (None if found is None else found["t.py"]) == after


def test_a_wrong_fix_is_found_out() -> None:
    case = next(case for case in PLANTED if case.title == "Predictions turned into numpy")
    said = told(case, case.files, "strict")
    assert proof(case, said, "strict") is True
    wrong = "copy it to the host first: scores.argmax(1).cuda().numpy()"
    changed = replace(said, fix=wrong)
    assert proof(case, changed, "strict") is False
