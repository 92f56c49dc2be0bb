"""What fixes have changed in a program, and what is to be called so that it runs."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from standins import Make, Slot

Rows = tuple[int, int]
"""Those of a statement, from and to; of one with a body, of what is above that."""


@dataclass(frozen=True)
class Source:
    """The text of a program, and the statements in it that count.

    A module of a package has a name, with which it runs, and the folder that the package is in.
    """

    text: str
    rows: Sequence[Rows] = ()
    module: str = "__main__"
    folder: str = ""

    @property
    def package(self) -> str:
        return self.module.rpartition(".")[0]


def changed(before: str, after: str) -> list[Rows]:
    """The rows, from and to, of the statements of a fixed text that its fixes have changed."""
    old, new = before.splitlines(), after.splitlines()
    tree = ast.parse(after)
    found = set()
    for tag, _, _, start, end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag != "equal":
            rows = range(start + 1, max(end, start + 1) + 1)
            found.update(_statement(tree, row) for row in rows)
    return sorted(each for each in found if each is not None)


def _statement(tree: ast.Module, row: int) -> Rows | None:
    """The innermost statement that a row is part of."""
    at = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= row <= (node.end_lineno or row)
    ]
    if not at:
        return None
    best = max(at, key=lambda node: node.lineno)
    body = getattr(best, "body", None)
    end = body[0].lineno - 1 if isinstance(body, list) else best.end_lineno
    return best.lineno, max(end or row, best.lineno)


def for_kind(text: str, kind: str) -> str:
    """A program that is for CUDA, written for another kind of accelerator or for the CPU."""
    if kind == "cuda":
        return text
    text = re.sub(r"""(["'])cuda(:\d+)?\1""", rf"\g<1>{kind}\1", text)
    text = re.sub(r"\.cuda\(\d*\)", f'.to("{kind}")', text)
    text = re.sub(r"\.cuda\((?=non_blocking)", f'.to("{kind}", ', text)
    text = re.sub(r"\.cuda\((?=\w)", ".to(", text)
    if kind == "mps":
        text = text.replace("torch.cuda.is_available", "torch.backends.mps.is_available")
        text = re.sub(r"torch\.cuda\.(?=synchronize|empty_cache|manual_seed)", "torch.mps.", text)
        text = re.sub(r"\.is_cuda\b", ".is_mps", text)
    return text


@dataclass(frozen=True)
class Call:
    """A function, a class, or a method of a class that is called, with what it is given."""

    path: tuple[str, ...]
    slots: tuple[Slot, ...]
    rows: Rows
    makes: tuple[Make, ...] = ()

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def is_method(self) -> bool:
        return len(self.path) == 2


def calls_of(source: Source) -> list[Call]:
    """The functions and methods with statements that count, and the classes that these are of.

    What a class keeps from its start is used by its methods: where the start has such
    statements, all are called.
    """
    return [call for node in ast.parse(source.text).body for call in _calls(node, source.rows)]


def _calls(node: ast.stmt, rows: Sequence[Rows]) -> Iterator[Call]:
    def holds(part: ast.stmt) -> bool:
        return any(_first(part) <= start <= (part.end_lineno or 0) for start, _ in rows)

    def call(part: ast.stmt, *path: str, slots: Sequence[Slot] = ()) -> Call:
        return Call(path, tuple(slots), (_first(part), part.end_lineno or 0))

    if isinstance(node, ast.FunctionDef) and holds(node):
        yield call(node, node.name, slots=_slots(node, 0))
    if isinstance(node, ast.ClassDef) and holds(node):
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        starts = [each for each in methods if each.name == "__init__"]
        yield call(node, node.name, slots=_slots(starts[0], 1) if starts else ())
        everything = not any(map(holds, methods)) or any(map(holds, starts))
        for method in methods:
            if method not in starts and (everything or holds(method)):
                static = any(ast.unparse(each) == "staticmethod" for each in method.decorator_list)
                yield call(method, node.name, method.name, slots=_slots(method, int(not static)))


def _first(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _slots(node: ast.FunctionDef, skipped: int) -> list[Slot]:
    arguments = [*node.args.posonlyargs, *node.args.args]
    defaults = [None] * (len(arguments) - len(node.args.defaults)) + [*node.args.defaults]
    pairs = [*zip(arguments, defaults, strict=True)][skipped:]
    pairs += zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return [
        Slot(each.arg, "" if each.annotation is None else ast.unparse(each.annotation), bool(value))
        for each, value in pairs
    ]
