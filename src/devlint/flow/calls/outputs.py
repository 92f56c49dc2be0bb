"""What a module gives of which its class tells more than that it is where the module is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from devlint.flow.calls.contracts import alone_with, forward_of
from devlint.flow.domain.derivation import Sort
from devlint.flow.domain.lattice import CPU, THE_MODULE, only_host
from devlint.flow.domain.paths import Path, path_value
from devlint.flow.domain.settled import Conditions
from devlint.flow.domain.state import Object, State
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.value_joins import join_all
from devlint.flow.domain.values import NOTHING, READ_BACK, TENSORS, Kind, Origin, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.notes import Returned
from devlint.flow.modules.placement import place_module
from devlint.flow.syntax.walk import first_parameter
from devlint.model import ir

_NO_TENSORS = (Kind.NUMBER, Kind.STRING, Kind.BOOL, Kind.NDARRAY, Kind.NONE)


def of_forward(frame: Frame, node: ir.Call, there: Value, module: Value) -> Value:
    """What a call of a module gives. `there` is a tensor where the module is."""
    told = [_told(frame, module, found) for found in frame.objects(module)]
    given = reduce(_either, told) if told else None
    if given is None or isinstance(given, Value):
        return _part(node, there, given)
    if all(part is None for part in (given.values() if isinstance(given, Mapping) else given)):
        return there
    if isinstance(given, Mapping):
        entries = {name: _part(node, there, part) for name, part in given.items()}
        kind, found = Kind.DICT, Object(items=(), entries=entries)
    else:
        kind, found = Kind.TUPLE, Object(items=tuple(_part(node, there, part) for part in given))
    return Value(kind, data=frame.allocate(node, found))


def _told(frame: Frame, module: Value, found: Object) -> Returned:
    """What the class of one of the modules tells that are called."""
    method = forward_of(found)
    if method is None:
        return None
    return _returned(frame, module, method)


def _either(a: Returned, b: Returned) -> Returned:
    """What one of two modules gives, of which nobody knows which is called."""
    if a == b:
        return a
    if isinstance(a, (Value, Mapping)) or isinstance(b, (Value, Mapping)):
        return READ_BACK
    a, b = (a or (None,) * len(b or ())), (b or (None,) * len(a or ()))
    return tuple(map(_one, a, b)) if len(a) == len(b) else READ_BACK


def _one(a: Value | None, b: Value | None) -> Value | None:
    return a if a == b else READ_BACK


def _returned(frame: Frame, module: Value, method: tuple[ClassInfo, ir.Function]) -> Returned:
    """What a `forward` returns on the host, or no tensor at all, whatever it is given: of each
    thing where it returns several, None for the others. It is run once for that, with its module
    in a place that nobody knows."""
    owner, function = method
    returned = frame.world.classes.returned
    if function not in returned:
        returned[function] = None  # it may call itself
        alone = alone_with(frame, method, Conditions())
        this = module.but(trait=Trait.SELF)
        for name in (parameter.name for parameter in function.params):
            known = this if name == first_parameter(function) else path_value(name)
            alone.state.env[name] = known
        place_module(alone, module, THE_MODULE)
        with frame.world.uncounted():
            frame.world.run(alone, function.body)
        if alone.returns and not alone.state.alive:
            reads = owner.file.scan(function).reads_back or _brings_back(alone)
            returned[function] = _together(alone, READ_BACK if reads else None)
    return returned[function]


def _brings_back(ended: Frame) -> bool:
    """Whether a name of a function stands for what some call has brought to the host."""
    values = (value for _, state in ended.returns for value in state.env.values())
    return any(each.origin is Origin.MOVED and only_host(each.device) for each in values)


def _together(ended: Frame, unknown: Value | None) -> Returned:
    """What all returns of a function have in common; `unknown` stands for what isn't known at all:
    it may have been brought to the host."""
    values = [value for value, _ in ended.returns]
    if len(values) == 1 and values[0].kind is Kind.DICT:
        state = ended.returns[0][1]
        row = state.heap.get(values[0].data)
        if row is not None and row.items == () and row.entries:
            return {n: _known(ended, each, state, unknown) for n, each in row.entries.items()}
    if any(value.kind is not Kind.TUPLE for value in values):
        return _common([_known(ended, *each, unknown) for each in ended.returns])
    rows = [
        [_known(ended, item, state, unknown) for item in held.items]
        for value, state in ended.returns
        if (held := state.heap.get(value.data)) is not None and held.items
    ]
    if len(rows) < len(values) or len({len(row) for row in rows}) != 1:
        return unknown
    return tuple(map(_common, zip(*rows, strict=True)))


def _common(values: Sequence[Value | None]) -> Value | None:
    known = [value for value in values if value is not None]
    return join_all(known) if len(known) == len(values) else None


def _known(frame: Frame, value: Value, state: State, unknown: Value | None) -> Value | None:
    if value.kind in _NO_TENSORS:
        return Value(value.kind)
    if value.kind is Kind.UNKNOWN:
        if isinstance(value.data, Path) and value.data.root == first_parameter(frame.function):
            return NOTHING  # what the module was set up with
        return value if value == READ_BACK else unknown
    if value.kind is Kind.DISTRIBUTION and state.simplify(value.device) == THE_MODULE:
        return Value(Kind.DISTRIBUTION, THE_MODULE, scalar=value.scalar)
    if value.kind not in TENSORS or state.simplify(value.device) != CPU:
        return None
    # one without dimensions may meet others anywhere
    return value.but(data=None, trait=None) if value.scalar is not True else READ_BACK


def _part(node: ir.Call, there: Value, part: Value | None) -> Value:
    if part is None:
        return there
    if part.kind is Kind.DISTRIBUTION:  # where the module is
        return there.but(kind=part.kind, scalar=part.scalar, trait=None, data=None)
    return part.step(Sort.RETURN, node) if part.kind is Kind.TENSOR else part
