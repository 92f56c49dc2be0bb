"""Optimizers: whose parameters they hold, where their state is, and what a move leaves behind."""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.differences import difference
from devlint.flow.domain.lattice import UNKNOWN, Device, Known, Symbol, leaves, only_host
from devlint.flow.domain.paths import Owned, Ref
from devlint.flow.domain.state import Object, State
from devlint.flow.domain.values import NOTHING, Kind, Origin, Value
from devlint.flow.domain.wording import hops
from devlint.flow.facts import LeftState
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.contents import contents
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.modules.placement import drop_left, forget_optimizer, held_place
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.torchapi.effects import Row
from devlint.torchapi.spellings import is_optimizer_class

BUILT, LOADED, STEPPED, REPLACED = "built", "loaded", "stepped", "replaced"


def build(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`Adam(model.parameters())`. Its `items` are the modules whose parameters it holds."""
    given = args.find(row.data)
    inside = () if given is None else contents(frame, given[1], 4, of_objects=False)
    owners = dict.fromkeys(each.data.ref for each in inside if isinstance(each.data, Owned))
    told = Step(Sort.OPTIMIZER, node, name=row.name.rpartition(".")[2])
    made = Object(
        source=row.name,
        items=tuple(Value(Kind.MODULE, data=ref) for ref in owners),
        entries=_since(BUILT),
        stateless=_is_stateless(row, args),
        trace=told,
    )
    value = Value(Kind.OPTIMIZER, data=frame.allocate(node, made))
    if owners:
        _replace_others(frame, made)
        frame.world.optimizers.add(value.data)
        if row.state == BUILT:
            _settle(frame, value, made, node, BUILT)
    return value


def _is_stateless(row: Row, args: Arguments) -> bool:
    """Whether it never keeps a tensor: SGD without momentum."""
    if row.parameters or args.unpacked:
        return False
    given = [args.find(parameter) for parameter in row.weights]
    return all(each is None or each[1].data == 0 for each in given)


def _replace_others(frame: Frame, made: Object) -> None:
    """An optimizer that is built anew, after a move, is what trains the module."""
    for ref in list(frame.world.left):
        other = frame.state.heap.get(ref)
        if other is not None and set(other.items or ()) & set(made.items or ()):
            del frame.world.left[ref]


def _place(frame: Frame, found: Object) -> Device:
    """Where the parameters are that an optimizer holds."""
    places = {held_place(frame, module) for module in found.items or ()}
    return places.pop() if len(places) == 1 else UNKNOWN


# --- what is done to it ------------------------------------------------------------------------

_HARMLESS = frozenset(("zero_grad", "state_dict", "train", "eval", "register_step_pre_hook"))
_SORTS = {BUILT: Sort.STATE_BUILT, LOADED: Sort.STATE_LOADED, STEPPED: Sort.STATE_STEPPED}


def method(frame: Frame, node: ir.Call, attr: str, base: Value) -> Value:
    """`optimizer.load_state_dict(...)` takes the state to where the parameters are now, and the
    first `step` makes it there."""
    found = frame.object(base)
    if found is None or attr in _HARMLESS:
        return NOTHING
    if attr == "load_state_dict":
        _settle(frame, base, found, node, LOADED)
    elif attr == "step":
        _step(frame, node, base, found)
    else:
        forget_optimizer(frame, base)
    return NOTHING


def _settle(frame: Frame, base: Value, found: Object, node: ir.Call, why: str) -> None:
    """Its state is now where the parameters are."""
    drop_left(frame, base)
    place = UNKNOWN if found.stateless else _place(frame, found)
    told = Step(_SORTS[why], node, device=place)
    frame.update(base, replace(found, device=place, trace=told, entries=_since(why)))


def _since(why: str) -> dict[str, Value]:
    """What keeps why its state is where it is."""
    return {"reason": Value(Kind.STRING, data=why)}


def _step(frame: Frame, node: ir.Call, base: Value, found: Object) -> None:
    """State that a step has made counts only where another step meets it."""
    place = _place(frame, found)
    if _reason(found) == STEPPED and _leaves(found.device, place):
        if base.data in frame.world.left:
            return  # what made the state, or loaded it, has been told
        _tell(frame, base.data, found, STEPPED, Hop(node, f"it meets parameters on {place} here"))
    elif _reason(found) == STEPPED or found.device == UNKNOWN:
        _settle(frame, base, found, node, STEPPED)
    else:
        frame.update(base, replace(found, entries=_since(STEPPED)))


# --- a module moves ----------------------------------------------------------------------------


def places(frame: Frame) -> dict[Ref, Device]:
    """Where the parameters of each optimizer are, before a module moves."""
    heap = frame.state.heap
    return {ref: _place(frame, heap[ref]) for ref in frame.world.optimizers if ref in heap}


def after_move(frame: Frame, node: ir.Call, method: str, before: dict[Ref, Device]) -> None:
    """Tell of the optimizers whose parameters have moved away from their state."""
    for ref, was in before.items():
        found = frame.state.heap[ref]
        place = _place(frame, found)
        if place == was or _reason(found) == STEPPED:
            continue
        hop = Hop(node, f"the parameters move to {place} here")
        if _makes_new_parameters(was, place, method):
            _tell(frame, ref, found, REPLACED, hop)
        elif _leaves(found.device, place):
            _tell(frame, ref, found, _reason(found), hop)


def _reason(found: Object) -> str:
    """Why its state is where it is; where two paths tell two reasons, that of the one whose trace
    is kept."""
    reason = found.entries.get("reason")
    if reason is None or found.trace is None:
        return ""
    if isinstance(reason.data, str):
        return reason.data
    return next((why for why, sort in _SORTS.items() if found.trace.sort is sort), BUILT)


def _leaves(state: Device, parameters: Device) -> bool:
    """State on the host, on each path that has any, and parameters that aren't: the other way round
    is the end of training."""
    known = [place for place in leaves(state) if place != UNKNOWN]
    return all(map(only_host, known)) and difference(state, parameters) is not None


def _makes_new_parameters(was: Device, place: Device, method: str) -> bool:
    """Whether a move gives the module new parameters, which the optimizer doesn't know."""
    if not isinstance(was, Known):
        return False
    if was.type == "meta":
        return method == "to_empty"
    return isinstance(place, Known) and place.type == "xla" and was.type != "xla"


def _tell(frame: Frame, ref: Ref, found: Object, reason: str, after: Hop) -> None:
    if frame.notes and found.trace is not None:
        name = str(found.source).rpartition(".")[2]
        node, context = found.trace.node, frame.context()
        frame.world.left[ref] = LeftState(node, context, name, reason, (*hops(found.trace), after))


_PLACE = Symbol("self.param_groups", "the device of the parameters", described=True)


def fill_groups(info: ClassInfo, state: State, this: Ref) -> None:
    """Give an optimizer of a class in sight what its base sets up: in `param_groups` tensors that
    are where the model is, and for each of them a dict, which is empty at first."""
    if not any(map(is_optimizer_class, info.library_bases())):
        return
    told = Step(Sort.HELD, info.node)
    parameter = Value(
        Kind.TENSOR, _PLACE, origin=Origin.FOLLOWS, grad=True, scalar=False, trace=told
    )
    heap = state.heap

    def put(kind: Kind, name: str, found: Object) -> Value:
        heap[info, name] = found
        return Value(kind, data=(info, name))

    held = put(Kind.LIST, "params", Object(element=parameter))
    group = put(Kind.DICT, "group", Object(entries={"params": held}))
    groups = put(Kind.LIST, "param_groups", Object(element=group))
    kept = put(Kind.DICT, "state of one", Object(items=()))
    states = put(Kind.DICT, "state", Object(element=kept))
    heap[this] = heap[this].with_entries({"param_groups": groups, "state": states})
