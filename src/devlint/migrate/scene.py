"""What the conversions of one file share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum

import libcst as cst
import libcst.matchers as m
from libcst.metadata import CodeRange, QualifiedName, QualifiedNameSource

from devlint.migrate.bindings import Bindings, Named
from devlint.migrate.choice import Choice
from devlint.migrate.reading import input_of
from devlint.migrate.syntax import dotted, expression
from devlint.torchapi.table import Table


class Default(Enum):
    """Whether a type of CUDA is that of all tensors, `torch.Tensor` too."""

    NONE = "as nothing sets one"
    ALWAYS = "as the file itself sets it"
    SOMETIMES = "under a condition, or where another file sets it"


@dataclass(frozen=True, slots=True)
class Project:
    """What is known of all files of a migration.

    `indices` are the fixed indices of CUDA devices that they name, `indexed` the expressions, as
    written, that `torch.cuda.set_device` is given. `late`: a file says on its way which devices are
    visible, so that no file may ask for one while it is imported.
    """

    choice: Choice
    table: Table
    name: str = "device"
    indices: Collection[int] = ()
    indexed: Collection[str] = ()
    late: bool = False
    default: Default = Default.NONE


@dataclass(slots=True)
class Scene:
    """One file: what is known of it, and what its conversions have come to.

    `reported` are the codes of findings by the row and column where they start.
    """

    project: Project
    names: Mapping[cst.CSTNode, Collection[QualifiedName]]
    parents: Mapping[cst.CSTNode, cst.CSTNode]
    positions: Mapping[cst.CSTNode, CodeRange]
    bindings: Bindings
    chosen: Named
    reported: Mapping[tuple[int, int], Collection[str]]
    done: Counter[str] = field(default_factory=Counter)
    """How often each kind of thing was converted."""
    left: list[tuple[int, str]] = field(default_factory=list)
    """What isn't decided: its row and why."""
    asked: list[int] = field(default_factory=list)
    """The rows that use the device that the file chooses."""
    indexed: dict[tuple[cst.FunctionDef | None, str], int] = field(default_factory=dict)
    """Indices that are to become the current one, of a plain name with its function; each with the
    first row of the statement in front of which that happens."""
    imports: set[str] = field(default_factory=set)
    """Modules that the new text names."""

    @property
    def choice(self) -> Choice:
        """The words of a choice."""
        return self.project.choice

    def row(self, node: cst.CSTNode) -> int:
        """The row in which a node starts."""
        return self.positions[node].start.line

    def codes(self, node: cst.CSTNode) -> Collection[str]:
        """The codes of the findings that start where a node does."""
        start = self.positions[node].start
        return self.reported.get((start.line, start.column + 1), ())

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """What a node is right below."""
        return self.parents.get(node)

    def library(self, node: cst.CSTNode) -> str:
        """The full name of what comes from an import; "" for all else."""
        if not dotted(node):
            return ""
        found = self.names.get(node, ())
        if not found or any(each.source is not QualifiedNameSource.IMPORT for each in found):
            return ""  # a name that is bound anew, `model = model.Net()`, is no module any more
        return self.project.table.canonical(min(each.name for each in found))

    def device(self, node: cst.CSTNode) -> Named:
        """The device at a place. Raises `ConflictError`."""
        row = self.row(node)
        around = self.function(node)
        if around is not None and (given := input_of(around)):
            return Named(f"{given}.device")
        found = self.bindings.at(row, self.project.name, self.chosen.name)
        if found is None:
            self.asked.append(row)
            self.imports.add("torch")
            return self.chosen
        return found

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The function around a node."""
        above = self.parent(node)
        while above is not None and not isinstance(above, cst.FunctionDef):
            above = self.parent(above)
        return above

    def module(self, node: cst.CSTNode) -> cst.CSTNode:
        """The tree that a node stands in."""
        while (above := self.parent(node)) is not None:
            node = above
        return node

    def owner(self, function: cst.FunctionDef) -> cst.CSTNode | None:
        """The class of which a function is a method, or what else it stands in."""
        block = self.parent(function)
        return None if block is None else self.parent(block)

    def device_expression(self, node: cst.CSTNode) -> cst.BaseExpression:
        """The same as an expression."""
        return expression(self.device(node).name)

    def type_expression(self, node: cst.CSTNode) -> cst.BaseExpression:
        """An expression for the type of it, a string."""
        named = self.device(node)
        self.imports.add("torch")
        return expression(named.type)

    def code(self, text: str) -> cst.BaseExpression:
        """An expression in which torch is named."""
        self.imports.add("torch")
        return expression(text)

    def leave(self, node: cst.CSTNode, why: str) -> None:
        """Something is left as it is."""
        self.left.append((self.row(node), why))

    def is_guarded(self, node: cst.CSTNode) -> bool:
        """Whether something around a node asks for CUDA, and goes on asking for it."""
        below, above = node, self.parent(node)
        while above is not None:
            if isinstance(above, (cst.If, cst.IfExp)) and below is not above.test:
                taken = above.orelse if below is above.orelse else None
                if taken is None and self.asks_for_cuda(above.test):
                    return True
            if isinstance(above, cst.BooleanOperation) and below is above.right:
                if isinstance(above.operator, cst.And) and self.asks_for_cuda(above.left):
                    return True
            if isinstance(above, (cst.FunctionDef, cst.Lambda)):
                return False
            below, above = above, self.parent(above)
        return False

    def asks_for_cuda(self, test: cst.BaseExpression) -> bool:
        """Whether a condition holds on CUDA alone."""
        if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
            return self.asks_for_cuda(test.left) or self.asks_for_cuda(test.right)
        if self.is_available(test):
            return not self.moves_below(test)
        return m.matches(
            test,
            m.Comparison(
                left=m.Attribute(attr=m.Name("type")),
                comparisons=[m.ComparisonTarget(m.Equal(), m.SimpleString("'cuda'"))],
            )
            | m.Comparison(
                left=m.Attribute(attr=m.Name("type")),
                comparisons=[m.ComparisonTarget(m.Equal(), m.SimpleString('"cuda"'))],
            ),
        )

    def is_available(self, node: cst.CSTNode) -> bool:
        """`torch.cuda.is_available()`."""
        return isinstance(node, cst.Call) and self.library(node.func) == "torch.cuda.is_available"

    def moves_below(self, test: cst.BaseExpression) -> bool:
        """Whether something that is about to follow the device hangs on a condition."""
        below: cst.CSTNode = test
        above = self.parent(test)
        while isinstance(above, (cst.BooleanOperation, cst.UnaryOperation, cst.Comparison)):
            below, above = above, self.parent(above)
        if isinstance(above, (cst.If, cst.IfExp)) and below is above.test:
            rest = (above.body, above.orelse)
            return any(each is not None and self._moves(each) for each in rest)
        return False

    def _moves(self, node: cst.CSTNode) -> bool:
        """Whether a part of a program moves to CUDA, or makes something there."""
        return any(
            isinstance(each, cst.Call)
            or (
                self.library(each).startswith("torch.cuda.")
                and self.library(each).endswith("Tensor")
            )
            for each in m.findall(node, _MOVES)
        ) or any(
            spelled_string(each) and not self._is_given_to_cuda(each)
            for each in m.findall(node, m.SimpleString())
        )

    def _is_given_to_cuda(self, node: cst.CSTNode) -> bool:
        """Whether a function of `torch.cuda` itself is given something: `set_device("cuda:0")`."""
        above = self.parent(node)
        while above is not None and not isinstance(above, cst.BaseStatement):
            if isinstance(above, cst.Call) and self.library(above.func).startswith("torch.cuda."):
                return True
            above = self.parent(above)
        return False


_MOVES = m.Call(func=m.Attribute(attr=m.Name("cuda"))) | m.Attribute() | m.Name()


def spelled_string(node: cst.CSTNode) -> str:
    """A literal as a device or a type is spelled; "" for any other text."""
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else ""
    if isinstance(value, str) and value.startswith(("cuda", "torch.cuda.")) and " " not in value:
        return value
    return ""
