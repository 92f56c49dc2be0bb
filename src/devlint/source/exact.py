"""Constructs of the intermediate form, found again in LibCST's tree.

A node knows its place from Python's own parser, which drops parentheses, blanks and comments. What
is reported is looked up in the concrete tree by its kind and its place; from there come exact
spans, and the parentheses that a fix has to keep.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import libcst as cst

from devlint.model import ir
from devlint.model.reports import Located
from devlint.model.spans import LineIndex
from devlint.source.casts import Casts
from devlint.source.lower_expressions import expression
from devlint.source.positions import Positions, Range
from devlint.source.spots import offsets_of

_TEXTS = (cst.FormattedString, cst.TemplatedString)

_KINDS: Mapping[type, tuple[type, ...]] = {
    ir.Alias: (cst.ImportAlias, cst.ImportStar, cst.Name, cst.Attribute),
    ir.Assert: (cst.Assert,),
    ir.Assign: (cst.Assign, cst.AnnAssign, cst.TypeAlias),
    ir.Attribute: (cst.Attribute,),
    ir.Augment: (cst.AugAssign,),
    ir.Await: (cst.Await,),
    ir.Binary: (cst.BinaryOperation,),
    ir.Boolean: (cst.BooleanOperation, cst.Comparison),
    ir.Break: (cst.Break,),
    ir.Call: (cst.Call,),
    ir.Class: (cst.ClassDef,),
    ir.Compare: (cst.Comparison,),
    ir.Comprehension: (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp,
                       cst.StarredDictComp),
    ir.Conditional: (cst.IfExp,),
    ir.Constant: (cst.BaseNumber, cst.SimpleString, cst.ConcatenatedString, cst.Name,
                  cst.Ellipsis),
    ir.Continue: (cst.Continue,),
    ir.Delete: (cst.Del,),
    ir.Display: (cst.Tuple, cst.List, cst.Set),
    ir.For: (cst.For,),
    ir.Function: (cst.FunctionDef,),
    ir.Handler: (cst.ExceptHandler, cst.ExceptStarHandler),
    ir.If: (cst.If,),
    ir.Import: (cst.Import, cst.LazyImport),
    ir.ImportFrom: (cst.ImportFrom, cst.LazyImportFrom),
    ir.Lambda: (cst.Lambda,),
    ir.Mapping: (cst.Dict,),
    ir.Match: (cst.Match,),
    ir.Name: (cst.Name,),
    ir.Parameter: (cst.Param,),
    ir.Raise: (cst.Raise,),
    ir.Return: (cst.Return,),
    ir.Scope: (cst.Global, cst.Nonlocal),
    ir.Slice: (cst.Slice,),
    ir.Subscript: (cst.Subscript,),
    ir.Text: (*_TEXTS, cst.ConcatenatedString),
    ir.Try: (cst.Try, cst.TryStar),
    ir.Unary: (cst.UnaryOperation,),
    ir.Walrus: (cst.NamedExpr,),
    ir.While: (cst.While,),
    ir.With: (cst.With,),
    ir.Yield: (cst.Yield,),
}  # fmt: skip
"""The kinds of LibCST's nodes that a kind of the intermediate form is lowered from, but for those
that have no node of their own."""

_BY_START = (
    ir.Class, ir.For, ir.Function, ir.Handler, ir.If, ir.Match, ir.Parameter, ir.Try, ir.While,
    ir.With,
)  # fmt: skip
"""What is found by its first character: its place goes to the end of a header, about."""


class NotFoundError(Exception):
    """A node that LibCST's tree of the same text doesn't have."""


class Exact:
    """Where nodes of a text stand in LibCST's tree of it, as offsets."""

    def __init__(self, tree: cst.Module, index: LineIndex) -> None:
        """Raises `RecursionError` for very deep trees."""
        self.positions = Positions(tree, index.text)
        self._index = index

    def range(self, node: Located) -> Range:
        """What to underline: parentheses around an expression and blanks are left out.

        Those of a tuple or a generator expression belong to it. Compound statements give their
        header up to the colon, `def` up to the end of its parameters, a class its name. Raises
        `NotFoundError`.
        """
        match node:
            case ir.Module():
                return 0, len(self._index.text)
            case ir.Evaluate(value=value):
                return self.outer(value)
            case ir.Starred(value=value):
                return self._spot(node)[0], self.outer(value)[1]
            case ir.Boolean(left=left, right=right) | ir.Compare(left=left, right=right):
                return self.outer(left)[0], self.outer(right)[1]
        found = self._find(node)
        if found is not None:
            return self.positions.range(found)
        match node:
            case ir.Display(items=(first, *_, last)) | ir.Display(items=(first as last,)):
                # of `x[a, b]`, a comma at its end included
                return self.outer(first)[0], max(self.outer(last)[1], self._spot(node)[1])
        raise NotFoundError(f"{type(node).__name__} at {self._spot(node)}")

    def outer(self, node: Located) -> Range:
        """The range of a node with all parentheses around it. Raises `NotFoundError`."""
        found = self._find(node) if isinstance(node, ir.Expr) else None
        return self.range(node) if found is None else self.positions.outer(found)

    def body_around(self, node: Located) -> Range | None:
        """The range of the innermost body of a function or lambda around a node, if any.

        Defaults and decorators stand outside of the body.
        """
        return self.positions.body_around(self.outer(node))

    def behind_casts(self, node: Located) -> int | None:
        """Where the casts of what an expression gives to other dtypes end, which stand right behind
        it; None where there are none."""
        found = self._find(node)
        last = None if found is None else self._casts.last(found)
        return None if last is None else self.positions.outer(last)[1]

    @cached_property
    def _casts(self) -> Casts:
        return Casts(self.positions.nodes())

    def _spot(self, node: Located) -> Range:
        place = offsets_of(node.origin, self._index)
        if place is None:
            raise NotFoundError(f"{type(node).__name__} has no place")
        return place

    # --- the way to a node of LibCST -----------------------------------------------------------

    def _find(self, node: Any) -> cst.CSTNode | None:
        """The node of LibCST from which one comes; None for a part of `a < b < c`, or an index of
        several, which have none."""
        start, end = self._spot(node)
        match node:
            case ir.Boolean() | ir.Compare():
                return self._by_range.get(self.range(node))
            case ir.Argument(value=value) | ir.Unpacked(argument=ir.Argument(value=value)):
                found = self._find(value)
                return None if found is None else self._arguments.get(found)
            case ir.Class():
                found = self._by_start.get((cst.ClassDef, start - len("class ")))
                return found.name if isinstance(found, cst.ClassDef) else None
            case ir.Case():
                return self._last_before(cst.MatchCase, start)
            case ir.Clause():
                return self._last_before(cst.CompFor, start)
            case ir.Comprehension(kind="generator", element=element):
                return self._by_start.get((cst.GeneratorExp, self.outer(element)[0]))
        kinds = _KINDS.get(type(node), ())
        if isinstance(node, _BY_START):
            places = (self._by_start.get((kind, start)) for kind in kinds)
            return next((found for found in places if found is not None), None)
        found = self._by_range.get((start, end))
        return found if _is_alike(node, found) else self._in_text(node)

    @cached_property
    def _by_range(self) -> dict[Range, cst.CSTNode]:
        """What has a range of its own: expressions, simple statements, names of imports."""
        kinds = (cst.BaseExpression, cst.BaseSmallStatement, cst.ImportAlias, cst.ImportStar,
                 cst.Slice)  # fmt: skip
        found: dict[Range, cst.CSTNode] = {}
        for node in self.positions.nodes():
            if isinstance(node, kinds) and not isinstance(node, cst.Expr):
                found.setdefault(self.positions.range(node), node)
        return found

    @cached_property
    def _by_start(self) -> dict[tuple[type, int], cst.CSTNode]:
        """What is found by its first character; a parameter by that of its name."""
        kinds = tuple(kind for each in _BY_START for kind in _KINDS[each])
        found: dict[tuple[type, int], cst.CSTNode] = {}
        for node in self.positions.nodes():
            if isinstance(node, (*kinds, cst.GeneratorExp)):
                named = node.name if isinstance(node, cst.Param) else node
                found[type(node), self.positions.start(named)] = node
        return found

    @cached_property
    def _arguments(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """The arguments of calls, by their values."""
        return {node.value: node for node in self.positions.nodes() if isinstance(node, cst.Arg)}

    def _last_before(self, kind: type, offset: int) -> cst.CSTNode | None:
        """The last node of a kind that starts before an offset."""
        nodes = ((self.positions.range(n)[0], n) for n in self.positions.nodes() if type(n) is kind)
        before = [found for found in nodes if found[0] < offset]
        return max(before, key=lambda found: found[0])[1] if before else None

    def _in_text(self, node: Any) -> cst.CSTNode | None:
        """What stands in an f-string, where Pythons before 3.12 may be at a loss: what reads the
        same; and of its literal pieces the whole of it."""
        start, end = self._spot(node)
        wanted = ir.render(node, limit=sys.maxsize)
        for text in self._texts:
            for inner in _inside(text):
                if _is_alike(node, inner) and self._rendered(inner) == wanted:
                    return inner
        if isinstance(node, ir.Constant):
            ranges = ((self.positions.range(text), text) for text in self._texts)
            return next((text for (a, b), text in ranges if a < end and start < b), None)
        return None

    @cached_property
    def _texts(self) -> list[cst.CSTNode]:
        return [node for node in self.positions.nodes() if isinstance(node, _TEXTS)]

    def _rendered(self, node: cst.CSTNode) -> str:
        start, end = self.positions.range(node)
        tree = ast.parse(f"({self._index.text[start:end]}\n)", mode="eval")
        return ir.render(expression(tree.body, ""), limit=sys.maxsize)


def _is_alike(node: Located, found: cst.CSTNode | None) -> bool:
    """Whether a node of LibCST may be the one from which another comes."""
    if not isinstance(found, _KINDS.get(type(node), ())):
        return False
    match node, found:
        case (ir.Name(id=name), cst.Name(value=word)) | (
            ir.Attribute(attr=name),
            cst.Attribute(attr=cst.Name(value=word)),
        ):
            return name == word or not word.isascii()
    return True


def _inside(text: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes below one."""
    for child in text.children:
        yield child
        yield from _inside(child)
