"""Small changes of a source, by mutmut's operators: what `mutation.py` has the tests find.

mutmut makes the mutants and no more: its command copies the tree and puts a function in place of
each of the program, which import-linter, the tests of sources and frozen dataclasses don't bear.
Its operators are plain functions from a node of LibCST to others. Three are added that it lacks: a
condition is negated, a statement goes, a result is None.

What doesn't count isn't changed: annotations and aliases of types, decorators, `TYPE_CHECKING`,
`__all__`, and wording, which is text with a blank in it and f-strings.
"""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators


def _negated(node: cst.If) -> Iterator[cst.If]:
    """`if x:` -> `if not (x):`"""
    test = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    yield node.with_changes(test=cst.UnaryOperation(cst.Not(), test))


def _deleted(node: cst.Expr) -> Iterator[cst.BaseSmallStatement]:
    """A call or a `yield` that stands for itself -> `pass`"""
    if not isinstance(node.value, (cst.BaseString, cst.Ellipsis)):
        yield cst.Pass()


def _without_result(node: cst.Return) -> Iterator[cst.Return]:
    """`return x` -> `return None`, unless that is as good as what it returns."""
    if node.value is not None and not m.matches(node.value, m.Name("None") | m.Name("False")):
        yield node.with_changes(value=cst.Name("None"))


OPERATORS = [
    *mutation_operators,
    (cst.If, _negated),
    (cst.Expr, _deleted),
    (cst.Return, _without_result),
]

_IN_NO_PLACE = (
    m.Annotation()
    | m.Decorator()
    | m.FormattedString()
    | m.If(test=m.Name("TYPE_CHECKING"))
    | m.Assign(targets=[m.AssignTarget(m.Name("__all__"))])
    | m.Call(func=m.Name("cast"))
)
_ALIAS = m.Assign(
    value=m.Subscript()
    | m.BinaryOperation(operator=m.BitOr())
    | m.Call(func=m.Name("TypeVar") | m.Name("ParamSpec"))
)


@dataclass(frozen=True)
class Mutant:
    """A source that is changed in one place."""

    path: Path
    rows: range
    """The rows of the statement up to the place: who runs one of them may see the change."""
    within: str
    """The function or class around it."""
    was: str
    now: str
    nth: int
    """How many rows above say the same."""
    operator: str
    text: str

    @property
    def key(self) -> tuple[str | int, ...]:
        """The same as long as these lines are, wherever they stand."""
        return self.path.as_posix(), self.within, self.was, self.now, self.nth

    def __str__(self) -> str:
        changed = [f"    - {line}" for line in self.was.splitlines()]
        changed += [f"    + {line}" for line in self.now.splitlines()]
        return "\n".join([f"{self.path}:{self.rows[-1]} {self.within}", *changed])


@dataclass(frozen=True)
class _Place:
    node: cst.CSTNode
    rows: range
    within: str


class _Places(cst.CSTVisitor):
    """The nodes of a file of which a mutant can be made."""

    def __init__(self, wrapper: MetadataWrapper) -> None:
        super().__init__()
        self.found: list[_Place] = []
        self._spans = wrapper.resolve(PositionProvider)
        self._names: list[str] = []
        self._statements: list[int] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        is_alias = not self._names and m.matches(node, _ALIAS)
        if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self._names.append(node.name.value)
        if isinstance(node, cst.BaseStatement):
            self._statements.append(self._spans[node].start.line)
        if is_alias or m.matches(node, _IN_NO_PLACE):
            return False
        is_wording = isinstance(node, cst.SimpleString) and " " in node.value
        if not is_wording and next(_changed(node), None) is not None:
            head = node
            if isinstance(node, (cst.If, cst.Match)):
                head = node.test if isinstance(node, cst.If) else node.subject
            last = self._spans[head].end.line
            rows = range(min(self._statements[-1], last), last + 1)
            self.found.append(_Place(node, rows, ".".join(self._names)))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, (cst.FunctionDef, cst.ClassDef)):
            self._names.pop()
        if isinstance(original_node, cst.BaseStatement):
            self._statements.pop()


def _changed(node: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode]]:
    for kind, operator in OPERATORS:
        if isinstance(node, kind):
            name = operator.__name__.removeprefix("operator_").strip("_")
            for each in operator(node):
                yield name, each


class File:
    """A file and the places in it."""

    def __init__(self, root: Path, path: Path) -> None:
        self.path = path.relative_to(root)
        wrapper = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")))
        self.module = wrapper.module
        visitor = _Places(wrapper)
        wrapper.visit(visitor)
        self.places = visitor.found
        self._tree = _tree(self.module.code)

    def mutants(self, place: _Place) -> list[Mutant]:
        """All mutants of a place that are Python and another program."""
        before = self.module.code
        rows = [row.strip() for row in before.splitlines()]
        found = []
        for operator, node in _changed(place.node):
            changed = self.module.deep_replace(place.node, node)
            text = changed.code if isinstance(changed, cst.Module) else before
            if _tree(text) in ("", self._tree):
                continue
            lines = [*difflib.unified_diff(before.splitlines(), text.splitlines(), n=0)][2:]
            was = "\n".join(line[1:].strip() for line in lines if line.startswith("-"))
            now = "\n".join(line[1:].strip() for line in lines if line.startswith("+"))
            above = rows[: int(lines[0].split()[1].lstrip("-").partition(",")[0]) - 1]
            nth = above.count(was.partition("\n")[0])
            found.append(Mutant(self.path, place.rows, place.within, was, now, nth, operator, text))
        return found


def _tree(text: str) -> str:
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return ""
    return ast.dump(ast.parse(text))


def drawn(root: Path, paths: list[Path], count: int, seed: int) -> list[Mutant]:
    """So many mutants of these files: places are drawn, and of each place one of its mutants.

    A call has as many mutants as it has arguments, twice; that it is a place as any other keeps
    lost arguments, which any test sees, from being most of what is drawn.
    """
    files = [File(root, path) for path in paths]
    places = [(file, place) for file in files for place in file.places]
    chooser = random.Random(seed)
    chooser.shuffle(places)
    found: list[Mutant] = []
    for file, place in places:
        if len(found) == count:
            break
        if of_place := file.mutants(place):
            found.append(chooser.choice(of_place))
    return found
