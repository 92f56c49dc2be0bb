"""What was going on when an operation failed: which modules ran, who called whom with what."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor, nn

from devlint.runtime.explaining.expressions import (
    arguments,
    holder_of,
    operands_of,
    whole_argument,
    written_argument,
)
from devlint.runtime.explaining.lookup import (
    MISSING,
    Named,
    locals_of,
    read,
    tensors_of,
)
from devlint.runtime.explaining.ownership import Ownership, Test
from devlint.runtime.explaining.running import Running
from devlint.runtime.explaining.source import Source
from devlint.runtime.explaining.stack import (
    ModuleFrame,
    Owner,
    Spot,
    hands_on,
    modules_at_work,
    owner_of,
    owner_of_class,
)
from devlint.runtime.operands import OperandFacts, Reader, is_tensor, memory_of


@dataclass(frozen=True, slots=True)
class Passed:
    """A tensor that a line of the program gives to a module."""

    index: int
    """Of the calling frame in the stack."""
    call: ModuleFrame
    position: str
    """As in `args[0]`."""
    text: str
    """As the line writes it; empty where that isn't known."""
    node: ast.AST | None
    callee: str
    """How the line writes the module."""
    holder: str = ""
    """The object that it is a part of and that can be moved as a whole; empty if there is none."""


_USERS: tuple[Owner, ...] = ("program", "library", "python")


@dataclass(frozen=True)
class Scene:
    """A stack, and the questions that can be asked of it."""

    stack: Sequence[Spot]
    reader: Reader
    _sources: dict[int, Source] = field(default_factory=dict)

    @cached_property
    def modules(self) -> list[ModuleFrame]:
        return modules_at_work(self.stack)

    @cached_property
    def user(self) -> Owner:
        """Whose frames can be changed: a library's are where none of the program runs."""
        owners = {spot.owner for spot in self.stack}
        return next((each for each in _USERS if each in owners), "program")

    def is_users(self, index: int) -> bool:
        """Whether a frame is the user's own."""
        return index >= 0 and self.stack[index].owner == self.user

    @cached_property
    def use(self) -> int:
        """The user's innermost frame; -1 if there is none."""
        return self.users_frame(len(self.stack) - 1)

    def users_frame(self, index: int) -> int:
        """The user's innermost frame from one on outwards; -1 if there is none."""
        return next((i for i in range(index, -1, -1) if self.is_users(i)), -1)

    def running_at(self, file: str, line: int, default: int) -> int:
        """The innermost frame whose function has a line; `default` where none has."""
        for index in range(len(self.stack) - 1, -1, -1):
            spot = self.stack[index]
            is_inside = spot.code.co_name == "<module>" or spot.code.co_firstlineno <= line
            if spot.file == file and is_inside and self.source(index).statement_at(line):
                return index
        return default

    @cached_property
    def inside(self) -> Spot | None:
        """Where a library is that the failing line has called, if it has called one."""
        called = self.stack[self.use + 1 :] if self.use >= 0 else ()
        return next((s for s in reversed(called) if owner_of(s.file) == "library"), None)

    @cached_property
    def home(self) -> ModuleFrame | None:
        """The module whose code the failing line is in, or was called from."""
        return next((m for m in reversed(self.modules) if m.index <= self.use), None)

    @cached_property
    def called(self) -> list[ModuleFrame]:
        """The modules of others that the failing line called, the outermost first."""
        return [m for m in self.modules if m.index > self.use and m.is_call]

    def source(self, index: int) -> Source:
        if index not in self._sources:
            self._sources[index] = Source(self.stack[index])
        return self._sources[index]

    @cached_property
    def running(self) -> Running:
        """The frames as scopes, for a walk back through them."""
        return Running(self)

    @cached_property
    def owners(self) -> Ownership:
        return Ownership([frame.module for frame in self.modules], self.reader)

    def label(self, module: nn.Module) -> str:
        """As in `encoder.layers.3 (Linear)`."""
        return self.owners.label(module)

    @property
    def home_label(self) -> str:
        return "" if self.home is None else self.label(self.home.module)

    def device(self, tensor: Tensor) -> str:
        return str(self.reader.device(tensor))

    # --- names

    def failing_call(self, index: int) -> ast.Call | None:
        """The call that fails in a frame's line."""
        node = self.source(index).failing if index >= 0 else None
        return node if isinstance(node, ast.Call) else None

    def failing_nodes(self, index: int) -> Iterator[ast.AST]:
        """What fails in a frame's line, and its parts."""
        node = self.source(index).failing if index >= 0 else None
        return iter(()) if node is None else ast.walk(node)

    def operands(self, index: int) -> list[Named]:
        """What the failing expression of a frame works on."""
        source = self.source(index)
        node = source.failing
        return [] if node is None else list(operands_of(node, source))

    def is_operand(self, text: str, index: int) -> bool:
        """Whether the failing expression of a frame works on what is written so, as a whole."""
        source = self.source(index)
        nodes = (named.node for named in self.operands(index))
        return any(node is not None and source.text_of(node) == text for node in nodes)

    def named(self, facts: OperandFacts, index: int) -> Named | None:
        """An operand as a frame's line writes it, or as one of its names holds it."""
        written, parts = self.operands(index), list(self._parts(index))
        held = list(locals_of(self.stack[index]))
        for candidates in (written, parts, held):
            for test in (is_same(facts), shares_memory(facts)):
                for each in candidates:
                    if each.tensor is not None and test(each.tensor):
                        return each
        return None

    def _parts(self, index: int) -> Iterator[Named]:
        """The tensors that the failing expression of a frame names, in whatever place."""
        source = self.source(index)
        for node in self.failing_nodes(index):
            if isinstance(node, (ast.Name, ast.Attribute)):
                value = read(node, self.stack[index])
                if is_tensor(value):
                    yield Named(source.text_of(node), value, node)

    def as_named(self, facts: OperandFacts, named: Named | None) -> OperandFacts:
        """The facts of what a name holds: an operator may have been given a view of it."""
        if (
            named is None
            or named.tensor is None
            or isinstance(named.node, (ast.Subscript, ast.Call))
        ):
            return facts
        return self.reader.facts(facts.name, named.tensor)

    def failing_text(self, index: int) -> str:
        """The failing expression of a frame's line."""
        if index < 0:
            return ""
        source = self.source(index)
        node = source.failing
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.Assign, ast.AugAssign)):
            node = getattr(node, "value", None)
        return "" if node is None else source.text_of(node)

    def is_on(self, value: object, device: str) -> bool:
        """Whether a value is a tensor on a device."""
        return is_tensor(value) and self.device(value) == device

    def may_be_device(self, call: ast.Call, index: int) -> bool:
        """Whether the arguments of a move can be a device: `x.to(torch.float16)` moves nothing."""
        values = [read(node, self.stack[index]) for node in call.args]
        return not values or any(not isinstance(value, torch.dtype) for value in values)

    # --- where a tensor came in

    def passed(self, call: ModuleFrame, test: Test) -> Passed | None:
        """How a call got a tensor that fulfils a condition."""
        position = next((p for p, tensor in arguments(call) if test(tensor)), None)
        if position is None:
            return None
        index = call.index - 1
        while index >= 0 and hands_on(self.stack[index]):
            index -= 1
        if not self.is_users(index):
            return Passed(index, call, position, "", None, "")
        source = self.source(index)
        node = self.call_of(call.module, index)
        if node is None:
            return Passed(index, call, position, "", None, "")
        text, part = written_argument(node, position, source)
        callee = source.text_of(node.func)
        holder = holder_of(part, source) or whole_argument(node, position, source)
        return Passed(index, call, position, text, part, callee, holder)

    def argument_facts(self, passed: Passed) -> OperandFacts:
        """The facts of an argument."""
        tensor = next(t for found, t in arguments(passed.call) if found == passed.position)
        return self.reader.facts(passed.position, tensor)

    def value(self, text: str, index: int) -> object:
        """The value of an expression in a frame; `MISSING` where it can't be had."""
        if index < 0 or not text:
            return MISSING
        try:
            return read(ast.parse(text, mode="eval").body, self.stack[index])
        except (SyntaxError, ValueError):
            return MISSING

    def is_users_class(self, kind: type) -> bool:
        """Whether the user can change a class."""
        return owner_of_class(kind) == self.user

    def call_of(self, module: nn.Module, index: int) -> ast.Call | None:
        """The expression of a frame's line that calls a module."""
        for node in self.failing_nodes(index):
            if isinstance(node, ast.Call) and read(node.func, self.stack[index]) is module:
                return node
        return self.failing_call(index)

    def entry(self, facts: OperandFacts, made_here: bool) -> Passed | None:
        """The outermost line of the program that gives a tensor to a module.

        A tensor that was computed in a module, and not made there, is taken to come from the
        inputs of that module if all of them are where it is.
        """
        found: Passed | None = None
        tests = [is_same(facts), shares_memory(facts)]
        for call in reversed([m for m in self.modules if m.is_call]):
            passed = next((p for test in tests if (p := self.passed(call, test))), None)
            if passed is None and not made_here:
                passed = self._derived(call, facts)
                if passed is not None:
                    tests = [self._argument_test(call, passed.position)]
            if passed is None:
                if call.index <= self.use:
                    break
            elif self.is_users(passed.index):
                found = passed
        return found

    def was_given(self, module: nn.Module, test: Test) -> bool:
        """Whether a method of a module was given a tensor: it may have kept what came in."""
        for spot in self.stack:
            parameters = spot.code.co_varnames[: spot.code.co_argcount]
            if parameters and spot.names.get(parameters[0]) is module:
                values = (spot.names.get(name) for name in parameters[1:])
                found = (t.tensor for value in values for t in tensors_of("", value, objects=True))
                if any(tensor is not None and test(tensor) for tensor in found):
                    return True
        return False

    def _derived(self, call: ModuleFrame, facts: OperandFacts) -> Passed | None:
        if self.owners.has_any_on(facts.device, call.module):
            return None  # a part of the module is there, and has put it there
        inputs = [tensor for _, tensor in arguments(call) if tensor.dim() > 0]
        if call.index > self.use:  # what torch has made of one of them
            there = [tensor for tensor in inputs if self.is_on(tensor, facts.device)]
            inputs = there if len(there) in (1, len(inputs)) else []
        if inputs and all(self.device(tensor) == facts.device for tensor in inputs):
            return self.passed(call, lambda tensor: tensor is inputs[0])
        return None

    def _argument_test(self, call: ModuleFrame, position: str) -> Test:
        tensor = next(tensor for found, tensor in arguments(call) if found == position)
        return lambda other: other is tensor


# --- conditions


def is_same(facts: OperandFacts) -> Test:
    return lambda tensor: id(tensor) == facts.identity


def shares_memory(facts: OperandFacts) -> Test:
    return lambda tensor: facts.memory is not None and memory_of(tensor) == facts.memory
