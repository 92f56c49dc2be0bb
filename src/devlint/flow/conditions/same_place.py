"""Tests of places. Where `a.device == b.device` holds, one tensor is where the other is; where
`a.is_cuda` doesn't, the author takes it to be on the host. Where the place is known, so is the
answer; where a run decides it, or what came in may be anywhere, a test parts two paths."""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.keys import ARGUMENTS_ON_HOST, ON_HOST, Literal, Settled, all_of
from devlint.flow.domain.lattice import UNKNOWN, Device, Guarded, Known, Symbol, symbols, ways_to
from devlint.flow.domain.paths import as_device
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, TENSORS, Kind, Origin, Value
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import is_builtin
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means


def narrow(frame: Frame, left: ir.Expr, right: ir.Expr) -> None:
    """Enter a branch in which `a.device` and `b.device` are equal."""
    one, other = _owner(frame, left), _owner(frame, right)
    if one is None or other is None:
        return
    first, second = frame.ask(one), frame.ask(other)
    if first.kind is not Kind.TENSOR or second.kind is not Kind.TENSOR:
        return
    if isinstance(frame.place(second), Known) or frame.place(second) == UNKNOWN:
        _put(frame, other, second, first)
    else:
        _put(frame, one, first, second)


def of_host(frame: Frame, node: ir.Expr, holds: bool) -> Settled:
    """What a test of a place settles (`x.is_cuda`, `x.device.type == "cpu"`). What isn't on CUDA is
    taken to be on the host, until another accelerator is asked for."""
    question = _question(frame, node)
    if question is None or question[1] not in _ASKED:
        return ()
    tested, asked, positive = question
    holds = positive is holds
    place, known = _tested_place(frame, tested), frame.state.known
    on_host = asked in ("cpu", "cuda") and (asked == "cpu") is holds
    found: dict[str, bool] = {}
    if isinstance(place, Guarded):
        found.update(_of_choice(place, asked, holds))
        if on_host:
            found.update((each.key + ON_HOST, True) for each in symbols(place))  # whichever it is
    owner = _owner(frame, tested)
    if on_host and isinstance(owner, ir.Name) and frame.takes(owner.id):
        found[ARGUMENTS_ON_HOST] = True
    if isinstance(place, Symbol):
        key = place.key + ON_HOST
        if asked == "cpu" or holds:
            found[key] = (asked == "cpu") is holds
        elif asked == "cuda":
            found[key] = known.get(key) is not False
        root = place.key.removesuffix(".device")
        if root != place.key and not means("namespace", root.partition(".")[0], "variable"):
            found[ARGUMENTS_ON_HOST] = found.get(key, bool(known.get(key)))
    return tuple(found.items())


def answered(frame: Frame, node: ir.Expr) -> bool | None:
    """Whether a test of a place holds; None for other tests, and of places that aren't known. Of a
    place that only a run can tell, what has been found out may only be taken to be so: nothing is
    known but that it is CUDA, where it has been found not to be the host."""
    told, question = _answer(frame, node), _question(frame, node)
    if question is None or (told is None and question[1] != "cuda"):
        return told
    tested, asked, positive = question
    place = _tested_place(frame, tested)
    if not isinstance(place, Symbol):
        return told
    is_cuda = asked == "cuda" and frame.state.known.get(place.key + ON_HOST) is False
    return positive if is_cuda else None


def _answer(frame: Frame, node: ir.Expr) -> bool | None:
    match node:
        case ir.Attribute(value=tested, attr="is_cuda" | "is_cpu" as attr):
            place = _place(frame, frame.ask(tested), *TENSORS)
            return None if place is None else place.type == attr.removeprefix("is_")
        case ir.Compare(op=op, left=ir.Call(func=ir.Attribute(value=tested, attr="get_device"))):
            place = _place(frame, frame.ask(tested), *TENSORS)
            on_host = None if place is None else _of_index(op, node.right)
            return None if on_host is None or place is None else (place.type == "cpu") is on_host
        case ir.Compare(op="in" | "not in" as op, left=ir.Constant(value=str(part)), right=right):
            place = _place(frame, frame.ask(right), Kind.STRING)
            if place is None or not part.isalpha():
                return None
            return (part in place.type) is (op == "in")
        case ir.Compare(op="==" | "!=" | "in" | "not in" as op, left=left, right=right):
            found = _is_one_of(frame, frame.ask(left), right)
            return None if found is None else found is (op in ("==", "in"))
    return None


def _question(frame: Frame, node: ir.Expr) -> tuple[ir.Expr, str, bool] | None:
    """What a test asks of a place: what tells the place, the type of a device, and whether the test
    holds where it is on one of that type."""
    match node:
        case ir.Attribute(attr="is_cuda" | "is_cpu"):
            return node, node.attr.removeprefix("is_"), True
        case ir.Compare(op=op, left=ir.Call(func=ir.Attribute(attr="get_device")) as tested):
            on_host = _of_index(op, node.right)
            return None if on_host is None else (tested, "cpu", on_host)
        case ir.Compare(op="in" | "not in" as op, left=ir.Constant(str(part)), right=tested):
            return tested, part, op == "in"
        case ir.Call(
            func=ir.Attribute(value=tested, attr="startswith"),
            args=(ir.Argument(value=ir.Constant(value=str(part))),),
        ):
            return tested, part, True
        case ir.Compare(op="in" | "not in" as op, left=tested, right=ir.Display(items=items)):
            asked = {_asked(frame, item) for item in items} & {"cpu", "cuda"}
            return (tested, asked.pop(), op == "in") if len(asked) == 1 else None
        case ir.Compare(op="==" | "!=" as op, left=tested, right=right):
            return tested, _asked(frame, right), op == "=="
    return None


def _of_index(op: str, right: ir.Expr) -> bool | None:
    """Whether a comparison with the index of a tensor's device, which is -1 on the host, holds
    there and nowhere else (True), or everywhere else (False)."""
    match right:
        case ir.Constant(value=0) if op in ("<", ">="):
            return op == "<"
        case ir.Unary(op="-", operand=ir.Constant(value=1)) if op in ("==", "!=", ">"):
            return op == "=="
    return None


def _place(frame: Frame, value: Value, *kinds: Kind) -> Known | None:
    """Where a tensor is, of which a value of one of these kinds tells."""
    place = frame.state.simplify(value.device)
    return place if value.kind in kinds and isinstance(place, Known) else None


def _is_one_of(frame: Frame, tested: Value, right: ir.Expr) -> bool | None:
    """Whether a device, its type or its text is one of those that stand on the right."""
    place = _place(frame, tested, Kind.DEVICE, Kind.STRING)
    if place is None:
        return None
    items = right.items if isinstance(right, ir.Display) else (right,)
    if tested.kind is Kind.DEVICE:
        others = [each for each in map(frame.ask, items) if each.kind is Kind.DEVICE]
        devices = [each.device for each in others if isinstance(each.device, Known)]
        if len(devices) < len(items):
            return None
        answers = [_is_same(place, each) for each in devices]
        return True if True in answers else None if None in answers else False
    texts = [item.value for item in items if isinstance(item, ir.Constant)]
    if len(texts) < len(items):
        return None
    if tested.trait is Trait.TYPE_OF_DEVICE or place.type == "cpu":
        return place.type in texts
    return None if any(str(text).startswith(place.type) for text in texts) else False


def _is_same(one: Known, other: Known) -> bool | None:
    """Whether two devices are equal: `cuda` may be any of its devices."""
    if one.type != other.type:
        return False
    return True if one.type == "cpu" else None


def host_key(frame: Frame, node: ir.Expr) -> Literal | None:
    """The key of the condition that a place which only a run can tell is the host
    (`device.type == "cpu"`, `not x.is_cuda`), and whether `node` is true where it holds."""
    question = _question(frame, node)
    if question is None or question[1] not in ("cpu", "cuda"):
        return None
    place = _tested_place(frame, question[0])
    if not isinstance(place, Symbol):
        return None
    return place.key + ON_HOST, question[2] is (question[1] == "cpu")


def _asked(frame: Frame, node: ir.Expr) -> str:
    """The type of the device that a place is compared with: "cpu", `torch.device("cpu")`, or a name
    that stands for it."""
    match node:
        case ir.Constant(value=str(text)):
            return text.partition(":")[0]
        case ir.Call(func=ir.Name(id="device") | ir.Attribute(attr="device")) | ir.Name():
            place = as_device(frame.ask(node))
            return place.type if isinstance(place, Known) else ""
    return ""


def _of_choice(place: Guarded, asked: str, holds: bool) -> Settled:
    """The conditions that a place hangs on are those that lead to where it is; where several ways
    do, they aren't those that lead elsewhere."""
    ways = list(ways_to(place))
    if not all(isinstance(leaf, Known) for _, leaf in ways):
        return ()
    there = [way for way, leaf in ways if isinstance(leaf, Known) and (leaf.type == asked) is holds]
    others = [way for way, _ in ways if way not in there]
    if len(there) == 1:
        return there[0]
    return ((all_of(others[0]), False),) if len(others) == 1 else ()


_ASKED = ("cpu", "cuda", "hpu", "mps", "mtia", "npu", "xla", "xpu")


def _tested_place(frame: Frame, node: ir.Expr) -> Device:
    """The place of which a test asks, as if nothing had been found out about it so far."""
    node = _of_text(frame, node)
    owner = _owner(frame, node)
    value = NOTHING if owner is None else frame.ask(owner)
    if value.kind in _PLACED:
        found = frame.object(value)
        if found is not None and "device" in found.entries:
            return as_device(found.entries["device"])  # what the program calls its device
        return value.device if found is None else found.device
    if isinstance(node, ir.Attribute) and node.attr == "type":
        node = node.value
    named = isinstance(node, (ir.Name, ir.Attribute)) and last_name(node) not in _FLAGS
    return as_device(frame.ask(node)) if named else UNKNOWN


_FLAGS = ("is_cuda", "is_cpu")
_PLACED = (Kind.TENSOR, Kind.BATCH, Kind.PLACED, Kind.MODULE)


def _owner(frame: Frame, node: ir.Expr) -> ir.Expr | None:
    """`x` of `x.device`, `x.device.type`, `x.is_cuda`, `x.get_device()`, `str(x.device)`: a name or
    an attribute, or the first parameter of a module, `next(model.parameters())`."""
    match node := _of_text(frame, node):
        case ir.Call(func=ir.Attribute(value=ir.Name() | ir.Attribute() as x, attr="get_device")):
            return x
    if not isinstance(node, ir.Attribute):
        return None
    if node.attr == "type" and isinstance(node.value, ir.Attribute):
        node = node.value
    if node.attr not in ("device", *_FLAGS):
        return None
    named = isinstance(node.value, (ir.Name, ir.Attribute))
    return node.value if named or _is_first_parameter(frame, node.value) else None


def _of_text(frame: Frame, node: ir.Expr) -> ir.Expr:
    """`x.device` of `str(x.device)`."""
    match node:
        case ir.Call(func=ir.Name(id="str") as func, args=(given,)) if is_builtin(frame, func):
            return given.value
    return node


def _is_first_parameter(frame: Frame, node: ir.Expr) -> bool:
    match node:
        case ir.Call(
            func=ir.Name(id="next") as func,
            args=(ir.Argument(value=ir.Call(func=ir.Attribute(attr="parameters"), args=())),),
        ) if is_builtin(frame, func):
            return True
    return False


def _put(frame: Frame, node: ir.Expr, value: Value, partner: Value) -> None:
    """`value`, which stands at `node`, is where its partner is."""
    told = Step(Sort.SAME_PLACE, node, partner.trace)
    place = frame.place(partner)
    frame.state.narrow(node, value.but(device=place, origin=Origin.MOVED, data=None, trace=told))
