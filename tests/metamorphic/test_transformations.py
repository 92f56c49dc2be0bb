"""Each transformation changes a program, and nothing of what the program does."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from metamorphic import annotating, layout, members, moving, renaming, splitting
from metamorphic.program import MAIN, Changed, Program, joined, unchanged

PROGRAM = '''\
"""Adds things up.

No statement.
"""
import math
from functools import reduce

LIMIT = 7
total = 0


def _twice(value, *more, by=2):
    """Doubles.

    value: what is doubled
    """
    result = value * by
    for item in more:
        result += item
    names = [f"{item}" for item in more if (kept := item) or kept]
    text = f"{result:.1f} of {', '.join(names)}"
    return result, text


def count(items):
    global total
    for number, item in enumerate(items):
        total += number * item
    inner = lambda value: value + total  # noqa
    return inner(LIMIT)


class Base:
    scale = 3

    def _grow(self, size):
        self.length = size * self.scale
        grown = self.length + 1
        again = grown + 1
        return again


class Shape(Base):
    def __init__(self, size):
        self.area = self._grow(size)

    def describe(self, word="shape"):
        area = self.area
        line = f"{word} {area}"
        return line + str(math.floor(1.5))


def main(values):
    shape = Shape(len(values))
    doubled, text = _twice(*values)
    match values:
        case [first, *rest]:
            found = first + len(rest)
        case _:
            found = 0
    try:
        found += 1 // (found - found)
    except ZeroDivisionError as error:
        text += type(error).__name__
    summed = reduce(lambda left, right: left + right, values)
    return [doubled, text, found, summed, shape.describe(), shape.length, count(values)]


if __name__ == "__main__":
    record(main([1, 2, 3]))
    """a
    string"""
'''

ALL: dict[str, tuple[Callable[[Program], Changed | None], list[str], list[str]]] = {
    "locals": (
        renaming.rename_locals,
        ["result", "item ", "grown", "error:", "rest]"],
        ["total", "LIMIT", "v1 =", "value", "self.area", "main", "Shape"],
    ),
    "globals": (renaming.rename_globals, ["LIMIT", "total"], ["result", "scale", "main"]),
    "functions": (
        renaming.rename_functions,
        ["_twice", "count(", "main("],
        ["_grow", "describe", "_f1", "Shape"],
    ),
    "classes": (renaming.rename_classes, ["Base", "Shape("], ["describe", "main"]),
    "methods": (members.rename_methods, ["_grow", "describe"], ["main", "area", "__init__"]),
    "parameters": (
        renaming.rename_parameters,
        ["value", "more", "items", "left", "word="],
        ["self", "result", "item"],
    ),
    "attributes": (members.rename_attributes, ["self.area", "self.length"], ["scale", "_grow"]),
    "comments": (layout.add_comments, [], [*layout.WORDS, "result = value"]),
    "wrap": (layout.wrap, [], ["if True:\n", "\n    class Base", "\nNo statement.", "\nimport"]),
    "reorder": (layout.reorder, [], ["def _twice", "class Shape"]),
    "split": (splitting.split, [], ["_rest1(", "return self._rest"]),
    "move": (moving.move, ["class Shape", "class Base"], ["from helpers import", "_twice"]),
}


def run(changed: Changed, folder: Path) -> list[object]:
    """What the program records."""
    for name, lines in changed.items():
        (folder / name).write_text(joined(lines))
    recorded: list[object] = []
    sys.path.insert(0, str(folder))
    try:
        names = {"__name__": "__main__", "record": recorded.append}
        exec(compile((folder / MAIN).read_text(), MAIN, "exec"), names)
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("helpers", None)
    return recorded


@pytest.mark.parametrize("name", ALL)
def test_the_program_does_the_same(name: str, tmp_path: Path) -> None:
    transformation, gone, kept = ALL[name]
    program = Program(PROGRAM)
    changed = transformation(program)
    assert changed is not None
    text = joined(changed[MAIN])
    assert text != PROGRAM
    assert [word for word in gone if word in text] == []
    assert [word for word in kept if word not in text] == []
    before = run({MAIN: unchanged(program)}, tmp_path)
    assert before
    assert run(changed, tmp_path) == before


@pytest.mark.parametrize("name", ALL)
def test_each_line_knows_where_it_stood(name: str) -> None:
    changed = ALL[name][0](Program(PROGRAM))
    assert changed is not None
    rows = [line.row for lines in changed.values() for line in lines if line.row]
    assert set(rows) >= {
        node.lineno for node in ast.walk(ast.parse(PROGRAM)) if isinstance(node, ast.Return)
    }
    is_renaming = name not in ("comments", "wrap", "reorder", "split", "move")
    assert not is_renaming or rows == list(range(1, len(PROGRAM.split("\n")) + 1))


def test_types_are_written_where_all_that_is_known_is_a_tensor() -> None:
    text = "import torch\n\n\ndef f(x, y, z=None):\n    a = x + y\n    b = a\n    b = y\n"
    known = {(5, 9): True, (5, 13): False, (6, 9): True, (7, 9): True}
    known |= {(4, 13): True, (6, 5): True, (7, 5): True}
    changed = annotating.annotate(lambda row, column: known.get((row, column)))(Program(text))
    assert changed is not None
    rows = joined(changed[MAIN]).split("\n")
    assert rows[3] == "def f(x: torch.Tensor, y, z=None):"
    assert rows[4:6] == ["    a: torch.Tensor = x + y", "    b = a"]


UNCHANGED: dict[str, tuple[Callable[[Program], Changed | None], str]] = {
    "names that are looked up": (
        renaming.rename_locals,
        "def f():\n    size = 1\n    return locals()['size']\n",
    ),
    "what an export spells": (
        renaming.rename_functions,
        "__all__ = ['f']\ndef f():\n    pass\n",
    ),
    "what a call names": (
        renaming.rename_parameters,
        "def f(size):\n    pass\nf(size=1)\n",
    ),
    "what a call may name": (
        renaming.rename_parameters,
        "def f(size):\n    pass\nf(**{'s' + 'ize': 1})\n",
    ),
    "what a framework names": (
        renaming.rename_parameters,
        "import lightning\nclass A(lightning.LightningModule):\n    def step(self, batch):\n"
        "        pass\n",
    ),
    "what another class may call": (
        members.rename_methods,
        "import other\nclass A(other.B):\n    def hook(self):\n        pass\n"
        "    def f(self):\n        self.hook()\n",
    ),
    "what a tensor has as well": (
        members.rename_attributes,
        "class A:\n    def __init__(self, x):\n        self.shape = x.shape\n",
    ),
    "what an object of others has": (
        members.rename_attributes,
        "class A:\n    def __init__(self, other):\n        self.thing = other.thing\n",
    ),
    "what another one needs": (
        layout.reorder,
        "class A:\n    pass\nclass B(A):\n    pass\n",
    ),
    "what may be called where it is defined": (
        layout.reorder,
        "def f():\n    return 1\nclass A:\n    x = f()\nclass B:\n    pass\n",
    ),
    "what is left at once": (
        splitting.split,
        "def f(x):\n    if x:\n        y = 1\n    z = 2\n    return y + z\n",
    ),
    "what yields": (
        splitting.split,
        "def f(x):\n    y = x\n    z = yield y\n    return z\n",
    ),
    "what needs a variable": (
        moving.move,
        "scale = 2\ndef f(x):\n    return x * scale\nf(1)\n",
    ),
    "what nothing uses": (moving.move, "def f(x):\n    return x\n"),
    "nothing but imports": (layout.wrap, '"""Text."""\nimport math\n'),
    "what stands below a comment": (layout.add_comments, "# devlint: ignore\nx = 1\n"),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_may_matter_stays(name: str) -> None:
    transformation, text = UNCHANGED[name]
    changed = transformation(Program(text))
    assert changed is None or joined(changed[MAIN]) == text
