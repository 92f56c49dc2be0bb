"""The rank of a process among all of a program's, on whichever machines they run.

It is a number with a trait, and its derivation begins with a step of its own: so whoever takes it
for the index of a device can be told. What is calculated of it (`rank % count`) has neither.
"""

from __future__ import annotations

from collections.abc import Mapping

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.effects.use import Overlay
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.files import File
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.imports import imported
from devlint.flow.syntax.processes import GLOBAL_RANKS, is_on_one_machine
from devlint.model import ir
from devlint.torchapi.effects import Row


def of_variable(frame: Frame, node: ir.Expr, name: Value) -> Value:
    """What a variable of the environment holds: the text of a number, where launchers set it."""
    if name.data not in GLOBAL_RANKS or _starts_processes(frame):
        return NOTHING
    return _rank(Kind.STRING, node)


def _environment(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    return of_variable(frame, node, args.value((0, "key")))


def _get_rank(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """In another group than that of all it may be anything."""
    known = not args.all and not _starts_processes(frame)
    return _rank(Kind.NUMBER, node) if known else Value(Kind.NUMBER)


def _rank(kind: Kind, node: ir.Expr) -> Value:
    return Value(kind, trait=Trait.GLOBAL_RANK, trace=Step(Sort.GLOBAL_RANK, node))


def _starts_processes(frame: Frame) -> bool:
    """Whether the program starts its processes itself, or says so: all run on one machine."""
    project, path = frame.world.project, frame.file.path
    functions = [each.name for each in frame.file.body if isinstance(each, ir.Function)]
    return frame.file.once(_starts, frame.file) or (
        project is not None and bool(project.spawned(path, functions))
    )


def _starts(file: File) -> bool:
    return is_on_one_machine(file.body, imported(ir.Module(file.body)))


RANKS: Mapping[str, Overlay] = {"environment": _environment, "get_rank": _get_rank}
