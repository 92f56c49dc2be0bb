"""Calls that could pass on the device which the calling function was given, and don't; those that
hand on the options of a command line, and leave out its device; and names of devices that nothing
binds, where the function was given another."""

from __future__ import annotations

from itertools import chain

from devlint.flow.domain.derivation import shown
from devlint.flow.domain.lattice import Known, Symbol
from devlint.flow.domain.paths import as_device, asks_class
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.domain.wording import hop
from devlint.flow.facts import Ignored, IgnoredDevice
from devlint.flow.frames.arguments import Arguments, by_parameter, fits, omitted
from devlint.flow.frames.contents import contents
from devlint.flow.frames.files import Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import BUILTINS, from_star
from devlint.flow.syntax.lookahead import names_bound
from devlint.flow.syntax.walk import defaults_to_none, mentions, nodes_of
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.model.trees import words
from devlint.policy import means


def device_parameter(function: ir.Function | None) -> ir.Parameter | None:
    """The parameter of a function that takes a device, by its name."""
    if function is None:
        return None
    named = (p for p in function.params if p.kind in _NAMED)
    return next((p for p in named if means("device", p.name, "parameter")), None)


_NAMED = ("positional", "keyword")


def record(
    frame: Frame,
    parameter: ir.Parameter | None,
    node: ir.Node,
    how: Ignored,
    instead: tuple[Hop, ...] = (),
    callee: str = "",
) -> None:
    """Write down that a device is ignored, or one used that nobody has."""
    optional = defaults_to_none(parameter)
    name = "" if parameter is None else parameter.name
    rows = [means(what, name, "parameter") for what in ("device", "a-device", "about-devices")]
    context = frame.context(*[row for row in rows if row][:1])
    frame.record(IgnoredDevice(node, context, name, frame.name, how, instead, callee, optional))


def note_call(
    frame: Frame, node: ir.Call, closure: Closure, args: Arguments, count: int, value: Value
) -> None:
    """Look at a call of a function of this file: does it drop the device that is at hand?

    `count`: how many arguments it is given by position, its receiver among them.
    """
    own, taken = device_parameter(frame.function), device_parameter(closure.node)
    given = frame
    if own is None:
        given = frame.outermost  # of which it is a part
        own = device_parameter(given.function)
    if taken is None or taken.default is None or (own is not None and own.name != taken.name):
        return
    if taken not in omitted(closure.node.params, args.keywords(), count):
        return
    if own is None:
        _note_options(frame, node, taken, closure.name)
        return
    device = as_device(given.look_up(own.name) or value)
    if not isinstance(device, Symbol) or device.key != own.name:
        return  # it was left out, or is another one by now
    if any(each.device == device or mentions(a, own.name) for a, each in args.all):
        return  # what it works on has been moved already
    if closure.node is frame.function:
        if frame.discarded is not node:
            record(frame, own, node, Ignored.DROPPED, callee=closure.name)
    elif shown(value.trace) is not None or frame.object(value) is not None:
        given.dropped_devices.append((node, closure.name, value))


def note_missing(
    frame: Frame, node: ir.Call, closure: Closure, args: Arguments, has_receiver: bool
) -> None:
    """Look at a call that Python refuses: is a device all that it lacks?"""
    params = closure.node.params[has_receiver:]
    left = [
        each
        for each in omitted(params, args.keywords(), len(args.positional()))
        if each.default is None and each.kind in _NAMED
    ]
    if frame.tells and len(left) == 1 and means("about-devices", left[0].name, "parameter"):
        whole = Arguments((*args.all, (ir.Argument(node, left[0].name), NOTHING)))
        if fits(params, whole):
            record(frame, left[0], node, Ignored.MISSING, callee=closure.called_as)


def note_own(frame: Frame, node: ir.Call, func: ir.Attribute, args: Arguments) -> None:
    """Look at a call of a method's own name on another object of its class, which it has asked for:
    `if isinstance(value, Batch): value.to_torch()`."""
    function, owner = frame.function, frame.owner
    if owner is None or function is None or function.name != func.attr:
        return
    own = device_parameter(function)
    if own is None or own.default is None or args.unpacked:
        return
    asked = asks_class(func.value, owner.node.name)
    if not frame.state.known.get(asked) or args.keyword(own.name) is not None:
        return
    here = frame.look_up(own.name) or NOTHING
    given = {name for name, _, _ in by_parameter(function, args, has_receiver=True)}
    left_out = here.kind is not Kind.NONE and own.name not in given
    if left_out and not any(mentions(a, own.name) for a, _ in args.all):
        record(frame, own, node, Ignored.DROPPED, callee=func.attr)


def tell_dropped(frame: Frame, own: ir.Parameter) -> bool:
    """Of the calls that went without the device, tell those whose result is returned as it came."""
    told = False
    parts = [part for value, _ in frame.returns for part in contents(frame, value, 1)]
    returned = [shown(part.trace) for part in parts if isinstance(part.device, Known)]
    for node, callee, made in frame.dropped_devices:
        lasts = [shown(part.trace) for part in contents(frame, made, 1)]
        for step in returned:
            if step is not None and any(step is last for last in lasts):
                record(frame, own, node, Ignored.DROPPED, (hop(step),), callee)
                told = True
                break
    return told


_ENOUGH = 2
"""How many options a call hands on by their own names, so that the device belongs there too."""


def _note_options(frame: Frame, node: ir.Call, taken: ir.Parameter, callee: str) -> None:
    """Look at a call that leaves its parameter for a device to the default, which is a string: is
    there an option for it, of which the others stand in the call?"""
    default = taken.default
    if not isinstance(default, ir.Constant) or not isinstance(default.value, str):
        return
    if any(a.star or _mentions_device(a.value) for a in node.args):
        return
    handed = [name for name in map(_handed_on, node.args) if name]
    if len(handed) < _ENOUGH or len(set(handed)) != 1:
        return
    declared = _declared(frame, f"--{taken.name}")
    if declared is None:
        return
    hop = Hop(declared, f"the option `--{taken.name}` is declared here")
    frame.record(
        IgnoredDevice(node, frame.context(), taken.name, handed[0], Ignored.OPTION, (hop,), callee)
    )


def _mentions_device(node: ir.Expr) -> bool:
    """Whether an argument has to do with a device: it may be there already."""
    return any(means("about-devices", word, "variable") for word in words(node))


def _handed_on(argument: ir.Argument) -> str:
    """`options` of `batch_size=options.batch_size`, else ""."""
    match argument.value:
        case ir.Attribute(value=ir.Name(id=name), attr=attr) if attr == argument.keyword:
            return name
    return ""


def _declared(frame: Frame, option: str) -> ir.Call | None:
    """Where the file declares an option."""
    for node in nodes_of(frame.file.body):
        match node:
            case ir.Call(
                func=ir.Attribute(attr="add_argument"),
                args=(ir.Argument(value=ir.Constant(value=name)), *_),
            ) if name == option:
                return node
    return None


def note_unbound(frame: Frame, node: ir.Expr) -> None:
    """Look at a name that stands where a device is meant: is it bound anywhere?"""
    function = frame.function
    if not isinstance(node, ir.Name):
        return
    if (
        not means("about-devices", node.id, "variable")
        or frame.look_up(node.id) is not None
        or node.id in BUILTINS
        or from_star(frame, node) is not None
    ):
        return
    params = () if function is None else function.params
    given = next((p for p in params if means("about-devices", p.name, "parameter")), None)
    if given is None:
        if _is_at_top(frame, function) and not _binds(frame, node.id):
            record(frame, None, node, Ignored.UNBOUND)
    elif not _binds(frame, node.id):
        hop = Hop(given, f"`{given.name}` is given here")
        record(frame, given, node, Ignored.UNBOUND, (hop,))


def _is_at_top(frame: Frame, function: ir.Function | None) -> bool:
    """Whether a function, or the class whose method it is, sees no names but those of its file; as
    does what stands in none."""
    if function is None:
        return frame.owner is None
    whole = function if frame.owner is None else frame.owner.node
    return not frame.around and whole in frame.file.body


def _binds(frame: Frame, name: str) -> bool:
    """Whether the running function binds a name, or the file by any statement of its own."""
    if frame.binds(name) or name in frame.file.rebound or not frame.file.whole:
        return True
    inside = chain.from_iterable(map(names_bound, (*frame.body, *frame.file.body)))
    if not {name, "*"}.isdisjoint(inside):
        return True
    return any(
        isinstance(node, ir.Name) and node.id in ("globals", "exec")
        for node in nodes_of(frame.file.body)
    )
