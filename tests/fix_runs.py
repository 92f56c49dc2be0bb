"""Runs a program before and after its fixes: on the CPU, and on emulated accelerators."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import linecache
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest
import torch
import torch.distributed as dist
from fixed_texts import Call, Rows, Source, for_kind
from groups import groups_end_last
from late_copies import LateCopies
from numbers_seen import plain
from standins import ABSENT, Scene, candidates, choices, seed, sizes_of
from torch import nn

from devlint import emulate

FILENAME = "example.py"
MOST_TRIES = 120
MOST_LINES = 100_000
"""How many lines a program may run: those of pages and cases run less than a thousand."""


@dataclass(frozen=True)
class Raised:
    """The first line of an error, and the row of the program that it comes from."""

    text: str
    row: int


class Program:
    """A text that runs, and in which functions and methods can be called."""

    def __init__(self, source: Source, kind: str, watched: bool = False) -> None:
        self.kind = kind
        self.reached: set[int] = set()
        """The first rows of the statements that count and have run."""
        self.objects: dict[str, Any] = {}
        self._watched = watched
        text = for_kind(source.text, kind)
        tree = _Marking({first for first, _ in source.rows}).visit(ast.parse(text))
        self._code = compile(ast.fix_missing_locations(tree), FILENAME, "exec", dont_inherit=True)
        self.space: dict[str, Any] = {
            "__name__": source.module,
            "__package__": source.package or None,
            "__file__": FILENAME,
            _MARK: self.reached.add,
        }
        linecache.cache[FILENAME] = (len(text), None, text.splitlines(True), FILENAME)

    def start(self) -> None:
        self._attempt(lambda: exec(self._code, self.space))

    def call(self, call: Call, on_host: bool = False) -> tuple[Any, dict[str, Any]]:
        """What a call gives, and what it was given, which it may have changed."""
        device = torch.device(self.kind)
        tensors = torch.device("cpu") if on_host else device
        given = {
            slot.name: make(Scene(device, tensors, slot.seed))
            for slot, make in zip(call.slots, call.makes, strict=True)
        }
        given = {name: value for name, value in given.items() if value is not ABSENT}
        called = self.space[call.path[0]]
        if call.is_method:
            made = self.objects[call.path[0]]
            is_forward = call.path[1] == "forward" and isinstance(made, nn.Module)
            called = made if is_forward else getattr(made, call.path[1])
        result = self._attempt(lambda: called(**given))
        if isinstance(called, type):
            made = result.to(device) if isinstance(result, nn.Module) else result
            self.objects[call.path[0]] = made
        return result, given

    def _attempt(self, action: Callable[[], Any]) -> Any:
        seed(0)
        with _no_end_of_lines() if self._watched else contextlib.nullcontext():
            result = action()
            return list(itertools.islice(result, 10)) if isinstance(result, Iterator) else result


_MARK = "_this_row_runs"


class _Marking(ast.NodeTransformer):
    """Puts a mark before the statements that begin in some rows."""

    def __init__(self, rows: set[int]) -> None:
        self._rows = rows

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, field, [part for each in value for part in self._marked(each)])
        return node

    def _marked(self, node: ast.stmt) -> Iterator[ast.stmt]:
        if node.lineno in self._rows:
            mark = ast.parse(f"{_MARK}({node.lineno})").body[0]
            yield from (ast.copy_location(each, node) for each in (mark,))
        yield node


@contextlib.contextmanager
def _no_end_of_lines() -> Iterator[None]:
    """Stops a program that doesn't end."""
    count = 0

    def local(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        if count > MOST_LINES:
            raise RuntimeError("the program doesn't end")
        return local

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        return local if frame.f_code.co_filename == FILENAME else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


class NoNetworkError(BaseException):
    """Ends what asks for the network: nothing that waits and asks again catches it."""


ERRORS = (Exception, SystemExit, NoNetworkError, pytest.skip.Exception, pytest.fail.Exception)


@contextlib.contextmanager
def surroundings(kind: str, source: Source) -> Iterator[io.StringIO]:
    """A machine with two GPUs, with another accelerator or with none, and what is printed; all
    that a program sets for the whole of torch is put back."""

    def no_network(*_: Any, **__: Any) -> None:
        raise NoNetworkError

    printed, dtype = io.StringIO(), torch.get_default_dtype()
    late = LateCopies() if "non_blocking" in source.text else None
    with contextlib.ExitStack() as stack:
        if kind != "cpu":
            stack.enter_context(emulate(kind, 2 if kind == "cuda" else 1, transfers=late))
        if late is not None:
            stack.enter_context(late.installed())
        stack.enter_context(groups_end_last())
        stack.enter_context(contextlib.redirect_stdout(printed))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        stack.enter_context(patch("socket.getaddrinfo", no_network))
        stack.enter_context(patch.object(sys, "argv", [FILENAME]))
        stack.enter_context(patch.dict(os.environ, LOCAL_RANK="0"))  # as launchers set it
        if source.folder:
            stack.enter_context(patch.object(sys, "path", [source.folder, *sys.path]))
            stack.callback(_forget, source.package)
        # torch's own test suite, where that has been imported, allows nobody to set these.
        stack.enter_context(torch.backends.__allow_nonbracketed_mutation())
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        try:
            yield printed
        finally:
            if dist.is_available() and dist.is_initialized():
                dist.destroy_process_group()
            torch.set_default_dtype(dtype)
            torch.set_default_device(None)
            torch.set_grad_enabled(True)


def _forget(package: str) -> None:
    """Let a package be read anew, out of another folder."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]


def found_calls(source: Source, calls: Sequence[Call]) -> list[Call]:
    """The calls that end on the plain CPU, each with what it is given: values by which as many
    as can be of the statements run that count."""
    found = []
    with surroundings("cpu", source):
        program = Program(source, "cpu", watched=True)
        try:
            program.start()
        except ERRORS:
            return []
        sizes = sizes_of(source.text)
        for call in calls:
            if not call.is_method or call.path[0] in program.objects:
                best = _filled(program, call, sizes, source.rows)
                found += [] if best is None else [best]
    return found


def _filled(
    program: Program, call: Call, sizes: Sequence[int], rows: Sequence[Rows]
) -> Call | None:
    wanted = {first for first, _ in rows if call.rows[0] <= first <= call.rows[1]}
    best, most = None, -1
    for makes in choices([candidates(slot, sizes) for slot in call.slots], MOST_TRIES):
        program.reached.clear()
        filled = replace(call, makes=makes)
        try:
            program.call(filled)
        except ERRORS:
            continue
        reached = len(program.reached & wanted)
        if reached > most:
            best, most = filled, reached
        if reached == len(wanted) or isinstance(program.space[call.path[0]], type):
            break
    return best


@dataclass(frozen=True)
class Outcome:
    """What can be seen of a run."""

    values: dict[str, Any]
    printed: str
    errors: dict[str, Raised]
    """By the name of what was called; "" stands for the program itself."""
    reached: set[int]
    """The first rows of the statements that count and ran, in what ended."""


def run(
    source: Source, kind: str, calls: Sequence[Call], on_host: AbstractSet[str] = frozenset()
) -> Outcome:
    """Run a program and its calls; those that `on_host` names get tensors of the host."""
    outcome = Outcome({}, "", {}, set())
    with surroundings(kind, source) as printed:
        program = Program(source, kind)
        try:
            program.start()
        except ERRORS as error:
            outcome.errors[""] = _raised(error)
        own = {name: value for name, value in program.space.items() if not name.startswith("__")}
        outcome.values.update((name, plain(value)) for name, value in own.items())
        outcome.reached.update(program.reached)
        for call in calls if not outcome.errors else ():
            if call.is_method and call.path[0] not in program.objects:
                continue
            program.reached.clear()
            try:
                result, given = program.call(call, call.name in on_host)
            except ERRORS as error:
                outcome.errors[call.name] = _raised(error)
                continue
            outcome.reached.update(program.reached)
            outcome.values[f"{call.name}()"] = plain(result)
            outcome.values.update((f"{call.name}: {n}", plain(v)) for n, v in given.items())
    return replace(outcome, printed=plain(printed.getvalue()))


def _raised(error: BaseException) -> Raised:
    rows, at = [0], error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == FILENAME:
            rows.append(at.tb_lineno)
        at = at.tb_next
    first = f"{type(error).__name__}: {error}".split("\n", 1)[0]
    return Raised(re.sub(r"0x\w+", "0x", first), rows[-1])
