"""What the calls in a file give to its functions.

Anybody may call a public function, with tensors of any device; but where all calls in its own
file bring something from the host, it is most likely a piece of what makes things there. A private
one is called where it is written, and so is every function of a file that never speaks of devices:
what one of these calls brings from the host stays there, and a flag that all of them leave at its
default is that. So does what they bring to a plain object's method where nothing is known of it:
only a module's methods are given what follows the module.
"""

from __future__ import annotations

from devlint.flow.domain.keys import ACCELERATOR_CHOSEN, CUDA_AVAILABLE
from devlint.flow.domain.lattice import CPU, UNKNOWN, left_out, may_be_accelerator
from devlint.flow.domain.paths import as_device
from devlint.flow.domain.values import NAMED, NOTHING, Kind, Value
from devlint.flow.facts import Guard, Role
from devlint.flow.frames.arguments import Arguments, Taken
from devlint.flow.frames.aspects import Aspect
from devlint.flow.frames.files import Closure, is_inner
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.parts import is_private
from devlint.model import ir
from devlint.policy import means

_CALLED_BY_OTHERS = ("forward", "backward")


def is_edge(name: str, role: Role) -> bool:
    """Whether torch calls a function of that name, with what users give to a module. An object that
    is no module is called by those who have it."""
    return name in _CALLED_BY_OTHERS or (name == "__call__" and role is Role.MODULE)


def calls_tell(closure: Closure) -> bool:
    """Whether the calls in its file may tell something of a function's arguments."""
    if not is_inner(closure) and closure.name not in _CALLED_BY_OTHERS:
        return not closure.name.startswith("__")
    return is_private(closure.name)


def remember_call(frame: Frame, closure: Closure, args: Arguments, taken: list[Taken]) -> None:
    """Remember what a call tells of a function: which arguments may be on an accelerator, what it
    sets, and whether an accelerator was asked for."""
    function = closure.node
    if closure.file is not frame.world.home:
        return  # that file tells of it
    if not calls_tell(closure):
        return
    own = is_private(function.name)
    plain = closure.owner is not None and closure.owner.role is Role.PLAIN
    little = not own and is_trial(frame)
    of_tests = frame.world.home.role is Role.TEST  # nobody else calls its functions
    if not little or frame.outermost.name == "main" or of_tests:
        _remember_guard(frame, function)
    if little:
        return
    open_so_far = frame.world.callers.given.setdefault(function, {})
    _remember_settings(frame, function, args, taken)
    hidden = {parameter.name for parameter in function.params} if args.unpacked else set()
    for name, _, value in taken:
        may_be = _may_be_accelerator(frame, value)
        if own and plain and value.kind is Kind.UNKNOWN:
            may_be = False  # nobody in sight gives it a tensor of an accelerator
        before = open_so_far.get(name, own)
        open_so_far[name] = (before and may_be) if own else (before or may_be)
        hidden.discard(name)
    open_so_far.update(dict.fromkeys(hidden, not own))


def remember_handing(frame: Frame, args: Arguments) -> None:
    """Functions of the file that a call is given, which it calls (`spawn(run, args=(...))`): they
    run where it stands, with arguments of which nothing is told."""
    for _, value in args.all:
        if value.kind is Kind.FUNCTION and isinstance(value.data, Closure):
            if value.data.file is frame.world.home:
                _remember_guard(frame, value.data.node)


def _remember_guard(frame: Frame, function: ir.Function) -> None:
    frame.asked.update((Aspect.GUARD, CUDA_AVAILABLE, ACCELERATOR_CHOSEN))
    asked = frame.context().guard is not Guard.NONE
    before = frame.world.callers.asked
    before[function] = before.get(function, True) and asked


def is_asked_for(frame: Frame, function: ir.Function) -> bool:
    """Whether every call of a function in its file stands where an accelerator was asked for; where
    there is none, whether its name says so."""
    by_name = bool(means("for-cuda", function.name, "function"))
    return frame.world.callers.asked.get(function, by_name)


def is_trial(frame: Frame) -> bool:
    """Whether the running code only tries something out: what it brings says little."""
    outermost = frame.outermost
    if outermost.role is Role.TEST:
        return True
    if outermost.name in ("", "main"):
        return not frame.world.is_program
    return bool(means("trial-run", outermost.name, "function"))


def _remember_settings(
    frame: Frame, function: ir.Function, args: Arguments, taken: list[Taken]
) -> None:
    """Remember which parameters a call sets to `True`, to `False` or to the host, or leaves at
    it."""
    given = {name: (argument.value, value) for name, argument, value in taken}
    settings = frame.world.callers.settings.setdefault(function, {})
    for parameter in function.params:
        told = None if args.unpacked else _setting(frame, parameter, given.get(parameter.name))
        settings[parameter.name] = told if settings.get(parameter.name, told) == told else None


def _setting(
    frame: Frame, parameter: ir.Parameter, given: tuple[ir.Expr, Value] | None
) -> Value | None:
    """`True`, `False` or the host, where a call sets a parameter to that."""
    node, value = given or (parameter.default, NOTHING)
    match node:
        case ir.Constant(value=bool(literal)):
            return Value(Kind.BOOL, data=literal)
        case ir.Constant(value=str()) if given is None:
            value = frame.evaluate(node)
    is_host = value.kind in NAMED and as_device(value) == CPU
    return Value(value.kind, CPU, data=value.data) if is_host else None


def setting(frame: Frame, function: ir.Function, parameter: str) -> Value | None:
    """What every call in the file sets a function's parameter to: `True`, `False` or the host. Of a
    private one, and of a program's."""
    told = frame.world.callers.settings.get(function, {}).get(parameter)
    if told is None or is_private(function.name):
        return told
    project, home = frame.world.project, frame.world.home
    return told if project is not None and project.is_program(home.path) else None


def may_be_given(frame: Frame, function: ir.Function, parameter: str) -> bool:
    """Whether a function's parameter may be on an accelerator for all that is known of its calls:
    of one that others call too, all calls in the file have to give it from the host."""
    return frame.world.callers.given.get(function, {}).get(parameter, True)


def _may_be_accelerator(frame: Frame, value: Value) -> bool:
    """Whether a value may be on an accelerator for all that is known of it."""
    if value.kind in (Kind.UNKNOWN, Kind.NONE):
        return True
    place = left_out(frame.place(value))
    return may_be_accelerator(place) or (value.kind is Kind.TENSOR and place == UNKNOWN)
