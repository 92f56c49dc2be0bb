"""What is known of names and states inside a branch, since its condition holds there or doesn't."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from devlint.flow.conditions import same_place, unions
from devlint.flow.conditions.asked import asked_about
from devlint.flow.conditions.implications import implied
from devlint.flow.conditions.predicates import meaning
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN, Device, Known
from devlint.flow.domain.paths import (
    Path,
    as_device,
    asks_class,
    given_tensor,
    identity,
    path_value,
)
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NONE, NOTHING, PROVED, TENSORS, Kind, Origin, Value
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import (
    asked_attribute,
    asked_types,
    dotted,
    dotted_types,
    is_tensor_class,
    named_types,
    stored,
)
from devlint.model import ir
from devlint.torchapi.spellings import place_of_type


def assume(frame: Frame, node: ir.Expr, holds: bool) -> None:
    """Enter a branch in which a condition holds, or doesn't."""
    learnt = dict(implied(frame, node, holds))
    frame.state.known.update(learnt)
    _narrow(frame, node, holds)
    if learnt:
        frame.state.asked.update(dict.fromkeys(learnt, asked_about(frame, node)))


def _narrow(frame: Frame, node: ir.Expr, holds: bool) -> None:
    node = meaning(frame, node)
    match node:
        case ir.Compare(left=ir.Name(id=name)) if (
            value := frame.look_up(name) or NOTHING
        ).trait is Trait.INDEX_OF_TENSOR:
            frame.state.env[name] = value.but(trait=None)  # who compares it knows that it may be -1
        case ir.Unary(op="not", operand=operand):
            _narrow(frame, operand, not holds)
        case ir.Boolean(op=op, left=left, right=right) if (op == "and") is holds:
            _narrow(frame, left, holds)
            _narrow(frame, right, holds)
        case ir.Compare(op="is" | "is not" as op, left=left, right=ir.Constant(value=None)):
            if (op == "is") is holds:
                _narrow_to_none(frame, left)
        case ir.Compare(op="==" | "!=" as op, left=left, right=right):
            if (op == "==") is holds:
                same_place.narrow(frame, left, right)
            else:
                _narrow_to_another(frame, left, (right,))
        case ir.Compare(op="in" | "not in" as op, left=left, right=ir.Display(items=items)):
            if (op == "in") is not holds:
                _narrow_to_another(frame, left, items)
        case ir.Attribute(value=subject, attr="requires_grad") if holds:
            _narrow_to_parameter(frame, subject)
        case ir.Call() if (asked := asked_types(frame, node)) is not None:
            _narrow_instance(frame, *asked, holds)
        case ir.Call(func=func, args=args):
            unions.forget(frame, node)
            if holds and len(args) == 1 and dotted(frame, func) == "torch.is_tensor":
                _narrow_to_tensor(frame, args[0].value)


def leaves_the_rest(frame: Frame, test: ir.Expr, other: ir.Expr) -> bool:
    """Whether `other` is what a test has found to be no tensor: `v` of
    `v.to(device) if torch.is_tensor(v) else v`. All tensors are what the other branch gives."""
    subject, attr = asked_attribute(frame, test) or (None, "")
    tensors = attr == "to"
    if subject is None:
        subject, names = named_types(frame, test) or (None, set[str]())
        tensors = bool(names) and all(map(is_tensor_class, names))
    same = isinstance(subject, ir.Name) and isinstance(other, ir.Name) and subject.id == other.id
    return tensors and same


def _narrow_to_none(frame: Frame, subject: ir.Expr) -> None:
    """A name, or an attribute that was taken for a tensor, stands for nothing."""
    match subject:
        case ir.Name(id=name):
            frame.state.env[name] = NONE
        case ir.Attribute(value=ir.Name(id=name), attr=attr):
            owner = frame.look_up(name) or NOTHING
            found = frame.object(owner)
            if found is not None and found.entries.get(attr, NOTHING).kind is Kind.TENSOR:
                frame.update(owner, found.with_entry(attr, NONE))


def _narrow_to_another(frame: Frame, subject: ir.Expr, others: Sequence[ir.Expr]) -> None:
    """What isn't one of these strings, and was taken for one, is a string that nobody knows."""
    path = identity(subject)
    texts = [each.value for each in others if isinstance(each, ir.Constant)]
    if not path or not any(isinstance(text, str) for text in texts):
        return
    value = frame.ask(subject)
    if value.kind is Kind.STRING and value.data in texts:
        frame.state.narrow(subject, path_value(path))


_PLAIN_TYPES: Mapping[str, Kind] = {
    "builtins.list": Kind.LIST, "builtins.tuple": Kind.TUPLE, "builtins.int": Kind.NUMBER,
    "builtins.float": Kind.NUMBER, "numbers.Number": Kind.NUMBER, "numpy.ndarray": Kind.NDARRAY,
}  # fmt: skip


def _narrow_instance(frame: Frame, subject: ir.Expr, types: ir.Expr, holds: bool) -> None:
    """What a test of its type tells of a name, and of others that stand for the same argument."""
    env, name = frame.state.env, subject.id if isinstance(subject, ir.Name) else ""
    before = env.get(name, NOTHING)
    given = isinstance(before.data, Path) or before.origin in (Origin.INPUT, Origin.FOLLOWS)
    others = [each for each, value in env.items() if value is before] if given else []
    _narrow_itself(frame, subject, types, holds)
    for each in others:
        env[each] = env[name]


def _narrow_itself(frame: Frame, subject: ir.Expr, types: ir.Expr, holds: bool) -> None:
    names = dotted_types(frame, types)
    if holds and frame.owner is not None and isinstance(types, ir.Name):
        if key := asks_class(subject, types.id):
            frame.state.known[key] = True
    if isinstance(subject, ir.Name) and unions.settle(frame, subject.id, names, holds):
        return
    if holds and names == {"builtins.str"}:
        frame.state.narrow(subject, _as_string(frame, subject))
        return
    if holds and names and all(map(is_tensor_class, names)):
        _narrow_to_tensor(frame, subject)
        return
    if not isinstance(subject, ir.Name):
        return
    value = frame.look_up(subject.id)
    plain = {_PLAIN_TYPES.get(name) for name in names}
    if plain == {Kind.LIST, Kind.TUPLE}:
        plain = {Kind.LIST}
    if holds and len(plain) == 1 and None not in plain:
        if value is None or value.kind in (Kind.UNKNOWN, *TENSORS):  # no tensor is one of these
            frame.state.env[subject.id] = Value(plain.pop() or Kind.UNKNOWN)
    elif holds and names == {_PACKED}:
        frame.state.env[subject.id] = NOTHING  # no tensor, and of its parts one is on the host
    elif holds and (place := _place_of_types(names)) != UNKNOWN:
        told = Step(Sort.TYPE_ASKED, subject)
        frame.state.env[subject.id] = Value(Kind.TENSOR, place, origin=Origin.MOVED, trace=told)
    elif holds and value is not None and value.kind in TENSORS:
        stays = value.kind is Kind.TENSOR and not _is_mapping(frame, value, names)
        frame.state.env[subject.id] = value if stays else NOTHING
    elif not holds and value is not None and value.kind is Kind.NDARRAY in plain:
        frame.state.env[subject.id] = NOTHING  # who asks gets something else, now and then
    elif not holds and value is not None and value.kind in (Kind.BATCH, Kind.TENSOR):
        if value.kind is Kind.BATCH or names == {"torch.Tensor"}:
            frame.state.env[subject.id] = NOTHING


def _is_mapping(frame: Frame, value: Value, names: set[str]) -> bool:
    """Whether what was taken for a tensor is a mapping, of settings as well as of tensors. What a
    `forward` is given holds its inputs."""
    return names <= _MAPPINGS and value.origin not in PROVED and frame.name != "forward"


_MAPPINGS = {"builtins.dict", "collections.abc.Mapping", "typing.Mapping", "typing.Dict"}


_PACKED = "torch.nn.utils.rnn.PackedSequence"


def _place_of_types(names: Collection[str]) -> Device:
    """Where tensors of types are that name it: `torch.FloatTensor`, `torch.cuda.FloatTensor`."""
    places = set(map(place_of_type, names))
    return Known(places.pop()) if len(places) == 1 and "" not in places else UNKNOWN


def _as_string(frame: Frame, subject: ir.Expr) -> Value:
    """A value that is a string: what it names is what it named before."""
    value = frame.look_up(subject.id) if isinstance(subject, ir.Name) else None
    return Value(Kind.STRING, UNKNOWN if value is None else as_device(value))


def narrow_to_array(frame: Frame, subject: ir.Expr) -> None:
    """What `torch.from_numpy` has taken is an array, whatever its name stood for."""
    if isinstance(subject, ir.Name):
        value = frame.look_up(subject.id)
        if value is None or value.kind is Kind.UNKNOWN or value.origin not in PROVED:
            frame.state.env[subject.id] = Value(Kind.NDARRAY, scalar=False)


def _narrow_to_tensor(frame: Frame, subject: ir.Expr) -> None:
    if isinstance(subject, ir.Name):
        value = frame.look_up(subject.id)
        if value is not None and value.kind not in TENSORS:
            frame.state.env[subject.id] = given_tensor(value.data, Sort.TYPE_ASKED, subject)
    elif path := identity(subject):  # `batch["x"]`, `args[0]`
        value = frame.ask(subject)
        if value.kind is Kind.UNKNOWN and value.data == Path(path, given=True):
            frame.state.paths[path] = given_tensor(value.data, Sort.TYPE_ASKED, subject)


def _narrow_to_parameter(frame: Frame, subject: ir.Expr) -> None:
    """What needs a gradient is no plain tensor of a module: it is the parameter that the module may
    hold in its place, which goes along."""
    value = stored(frame, subject)
    if value is not None and value.kind is Kind.TENSOR and value.origin is Origin.ATTRIBUTE:
        frame.state.narrow(subject, Value(Kind.TENSOR, UNKNOWN, grad=True))
