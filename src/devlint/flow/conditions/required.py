"""What a function asks for before it comes back: `if not torch.cuda.is_available(): pytest.skip()`.

Who calls it, and which test is given it as a fixture, goes on only where that holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.conditions import implications
from devlint.flow.conditions.cuda_proofs import ON_CUDA_ALONE
from devlint.flow.domain.keys import ACCELERATOR_CHOSEN, CUDA_AVAILABLE, Literal
from devlint.flow.domain.state import State
from devlint.flow.frames.files import Closure, File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import EXITS, dotted
from devlint.flow.syntax.walk import descendants, inner_statements
from devlint.model import ir
from devlint.model.trees import last_name

_SETUPS = ("setUp", "setUpClass", "setup", "setup_method", "setup_class")


def required(frame: Frame, closure: Closure) -> dict[str, bool]:
    """The conditions that hold wherever a call of a function has come back."""
    function = closure.node
    found = frame.world.callers.required.get(function)
    if found is None:
        found = frame.world.callers.required[function] = {}
        own = Frame(
            frame.world, closure.file, State(), function, around=closure.around, recording=False
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
    first: list[Closure | None] = []
    if closure.name in fixtures or closure.name.startswith("test"):
        first += (fixtures.get(parameter.name) for parameter in function.params)
    if owner is not None and closure.name not in _SETUPS:
        first += map(owner.reached, _SETUPS)
    found: dict[str, bool] = {}
    for each in first:
        found.update({} if each is None else required(frame, each))
    return found


def sets_default_for_tests(file: File) -> bool:
    """Whether what sets up the tests of a file, or a fixture that each of them gets, sets where
    tensors are made, or calls what does."""
    found = [(file, each.node) for each in file.fixtures.values() if _is_for_all(each.node)]
    for info in file.classes.values():
        setups = {*_SETUPS, *(("__init__",) if _TEST_CASE in info.library_bases() else ())}
        for each in info.lineage():
            methods = each.methods.items()
            found += ((each.file, m) for name, m in methods if name in setups or _is_for_all(m))
    return any(_sets_default(*each) for each in found)


def _sets_default(of: File, function: ir.Node, once: bool = True) -> bool:
    for node in descendants(function):
        if isinstance(node, ir.Call):
            if last_name(node.func) in _SETS_DEFAULT:
                return True
            named = of.names.get(node.func.id) if isinstance(node.func, ir.Name) else None
            called = None if named is None else named.data
            if once and isinstance(called, Closure) and _sets_default(of, called.node, False):
                return True
    return False


_TEST_CASE = "unittest.TestCase"
_SETS_DEFAULT = ("set_default_device", "set_default_tensor_type")


def _is_for_all(function: ir.Function) -> bool:
    """Whether a function is a fixture of pytest's that no test needs to ask for."""
    return any(
        argument.keyword == "autouse" and getattr(argument.value, "value", None) is True
        for each in function.decorators
        if isinstance(each, ir.Call) and last_name(each.func) == "fixture"
        for argument in each.args
    )


def _proved(frame: Frame, statement: ir.Stmt) -> Iterator[Literal]:
    """What holds after a statement of a function's body, from its words alone. That a device was
    asked for is believed of a test that is skipped; else an error may be about something else."""
    skips = False
    match statement:
        case ir.If(test=test, body=(*_, last)) if _ends(frame, last):
            skips = isinstance(last, ir.Evaluate)
            known = implications.implied(frame, test, False)
        case ir.Assert(test=test):
            known = implications.implied(frame, test, True)
        case ir.Evaluate(value=ir.Call() as call) if _sets_up_cuda(frame, call):
            known = ((CUDA_AVAILABLE, True),)
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


def starts_on_cuda(frame: Frame, function: ir.Function) -> bool:
    """Whether a function, or a part of it, starts processes that work together on CUDA: before
    that, too, nothing in it is meant for another machine."""
    for call in (getattr(each, "value", None) for each in function.body):
        if isinstance(call, ir.Call):
            if dotted(frame, call.func) == _STARTS_GROUP and _sets_up_cuda(frame, call):
                return True
            part = frame.file.parts.get(last_name(call.func))
            if part is not None and part is not function and starts_on_cuda(frame, part):
                return True
    return False


_STARTS_GROUP = "torch.distributed.init_process_group"


def names_backend_of_cuda(call: ir.Call) -> bool:
    """Whether a call is told which backend to set up, one that raises where there is no GPU:
    `launch(rank, backend="nccl")`."""
    for argument in call.args:
        if argument.keyword in _BACKENDS and isinstance(argument.value, ir.Constant):
            return argument.value.value in ON_CUDA_ALONE
    return False


_BACKENDS = ("backend", "dist_backend")


def _sets_up_cuda(frame: Frame, call: ir.Call) -> bool:
    """Whether a call raises where there is no GPU, by the backend that it is told to set up: the
    function that starts a group takes it by position, too."""
    match call.args:
        case (ir.Argument(keyword=None, value=ir.Constant(value=backend)), *_) if (
            dotted(frame, call.func) == _STARTS_GROUP
        ):
            return backend in ON_CUDA_ALONE
    return names_backend_of_cuda(call)


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
