"""What a function asks for before it comes back: `if not torch.cuda.is_available(): pytest.skip()`.

Who calls it, and which test is given it as a fixture, goes on only where that holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.conditions import implications
from devlint.flow.conditions.cuda_proofs import ON_CUDA_ALONE
from devlint.flow.domain.keys import ACCELERATOR_CHOSEN, CUDA_AVAILABLE
from devlint.flow.domain.state import State
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import EXITS, dotted
from devlint.flow.syntax.walk import inner_statements
from devlint.model import ir

_SETUPS = ("setUp", "setUpClass", "setup", "setup_method", "setup_class")


def required(frame: Frame, closure: Closure) -> dict[str, bool]:
    """The conditions that hold wherever a call of a function has come back."""
    function = closure.node
    if not isinstance(function, ir.Function):
        return {}
    found = frame.world.required.get(function)
    if found is None:
        found = frame.world.required[function] = {}
        own = Frame(
            frame.world, closure.file, State(), function, scopes=closure.scopes, recording=False
        )
        found.update(before(own, closure))
        for statement in function.body:
            if _may_return(statement):
                break  # what comes later is not asked of every call
            found.update(_proved(own, statement))
    return found


def _may_return(statement: ir.Stmt) -> bool:
    """Whether a call may come back from within a statement."""
    return isinstance(statement, ir.Return) or any(map(_may_return, inner_statements(statement)))


def before(frame: Frame, closure: Closure) -> dict[str, bool]:
    """The conditions that hold wherever pytest or unittest starts a function: its fixtures, and
    what sets up its class, have come back."""
    function, owner, fixtures = closure.node, closure.owner, closure.file.fixtures
    found: dict[str, bool] = {}
    if fixtures and isinstance(function, ir.Function):
        if function.name in fixtures or function.name.startswith("test"):
            for parameter in function.params:
                fixture = fixtures.get(parameter.name)
                if fixture is not None:
                    found.update(required(frame, fixture))
    if owner is not None and closure.name not in _SETUPS:
        for name in _SETUPS:
            setup = owner.reached(name)
            if setup is not None:
                found.update(required(frame, setup))
    return found


def _proved(frame: Frame, statement: ir.Stmt) -> Iterator[tuple[str, bool]]:
    """What holds after a statement of a function's body, from its words alone. That a device was
    asked for is believed of a test that is skipped; else an error may be about something else."""
    skips = False
    match statement:
        case ir.If(test=test, body=(*_, last)) if _ends(frame, last):
            skips = isinstance(last, ir.Evaluate)
            known = implications.implied(frame, test, False)
        case ir.Assert(test=test):
            known = implications.implied(frame, test, True)
        case ir.Evaluate(value=ir.Call() as call) if names_backend_of_cuda(call):
            yield CUDA_AVAILABLE, True
            return
        case ir.Evaluate(value=ir.Call() as call) if dotted(frame, call.func) == _STARTS_GROUP:
            if _backend(call.args) in ON_CUDA_ALONE:
                yield CUDA_AVAILABLE, True
            return
        case ir.Evaluate(value=ir.Call(func=ir.Name(id=name))):
            value = frame.look_up(name)
            if value is not None and isinstance(value.data, Closure):
                yield from required(frame, value.data).items()
            return
        case _:
            return
    for key, holds in known:
        if holds and (key == CUDA_AVAILABLE or (skips and key == ACCELERATOR_CHOSEN)):
            yield key, holds


def names_backend_of_cuda(call: ir.Call) -> bool:
    """Whether a call is told which backend to set up, one that raises where there is no GPU:
    `launch(rank, backend="nccl")`."""
    for argument in call.args:
        if argument.keyword in _BACKENDS and isinstance(argument.value, ir.Constant):
            return argument.value.value in ON_CUDA_ALONE
    return False


_STARTS_GROUP = "torch.distributed.init_process_group"
_BACKENDS = ("backend", "dist_backend")


def _backend(args: tuple[ir.Argument, ...]) -> object:
    """The backend of a process group, where it is spelled out."""
    named = [a for a in args if a.keyword == "backend"] or [a for a in args[:1] if not a.keyword]
    return named[0].value.value if named and isinstance(named[0].value, ir.Constant) else None


def _ends(frame: Frame, statement: ir.Stmt) -> bool:
    """Whether nothing comes after a statement: an error, the end of the program or of the test."""
    match statement:
        case ir.Raise():
            return True
        case ir.Evaluate(value=ir.Call(func=func)):
            return dotted(frame, func) in EXITS or (
                isinstance(func, ir.Attribute) and func.attr == "skipTest"
            )
    return False
