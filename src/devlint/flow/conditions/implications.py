"""What conditions prove: keys for the branches of an `if`, and what is settled inside them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from devlint.flow.conditions.cuda_proofs import counted, counts_devices, of_count, proves_cuda
from devlint.flow.conditions.hints import by_name, is_one_of
from devlint.flow.conditions.predicates import meaning, paths_in, spelled_out
from devlint.flow.conditions.same_place import answered, host_key, of_host
from devlint.flow.devices.named import DEVICES_COUNTED
from devlint.flow.domain.keys import (
    ARGUMENTS_ON_HOST,
    CUDA_AVAILABLE,
    HINTS,
    IN_NO_WORKER,
    IS_NONE,
    LONGEST,
    OF_PROCESSES,
    Literal,
    Settled,
    all_of,
    is_about_devices,
    is_local,
)
from devlint.flow.domain.paths import Path, asks_attribute, identity
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Condition, Kind, Value
from devlint.flow.frames.callee_facts import local_name
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import asked_attribute, condition, dotted, dotted_types, stored
from devlint.flow.syntax.walk import descendants
from devlint.model import ir
from devlint.model.trees import dotted_name, is_named, root_name, terms

_DEVICE_NAMES = ("cpu", "cuda", "mps", "xpu", "npu")


def truth(frame: Frame, node: ir.Expr, value: Value) -> Value:
    """The value of a `not`, an `and`, an `or` or a comparison that is a plain truth value.

    What it proves is worked out only where it is stored: a test is looked at by `assume`.
    """
    if isinstance(node, ir.Unary) and value.kind is Kind.BOOL and isinstance(value.data, bool):
        return value.but(data=not value.data)
    if frame.testing:
        return _TRUTH if _is_plain(node, value) else NOTHING
    told = answered(frame, node) if value.trait in _OF_PLACES else None
    if told is not None:
        return Value(Kind.BOOL, data=told, trait=Trait.ANSWER)
    true, false = implied(frame, node, True), implied(frame, node, False)
    condition = Condition(key_of(frame, node) or _same_as(true, false), true, false)
    return Value(Kind.BOOL if _is_plain(node, value) else Kind.UNKNOWN, data=condition)


def _same_as(true: Settled, false: Settled) -> Literal | None:
    """The condition that holds exactly where another one does: what is settled in one way where
    that holds, and in the other where it doesn't."""
    opposed = (each for each in true if each[0] not in _HINTS and (each[0], not each[1]) in false)
    return next(opposed, None)


_HINTS = HINTS | {ARGUMENTS_ON_HOST}
_TRUTH = Value(Kind.BOOL)
_OF_PLACES = (
    Trait.ANSWER, Trait.DEVICE_OF_TENSOR, Trait.INDEX_OF_TENSOR, Trait.TEXT_OF_DEVICE,
    Trait.TYPE_OF_DEVICE
)  # fmt: skip
_SCALARS = (Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.BOOL, Kind.DEVICE, Kind.DTYPE)


def _is_plain(node: ir.Expr, value: Value) -> bool:
    """Whether a truth value is a `bool` for sure: a comparison of unknown things may as well be a
    tensor of truth values."""
    if isinstance(node, ir.Compare):
        return node.op in ("is", "is not", "in", "not in") or value.kind in _SCALARS
    return isinstance(node, (ir.Unary, ir.Call)) or value.kind is Kind.BOOL


def implied(frame: Frame, node: ir.Expr, holds: bool) -> Settled:
    """The conditions that are settled where `node` is true (or false, with `holds` False)."""
    node = meaning(frame, node)
    match node:
        case ir.Unary(op="not", operand=operand):
            return implied(frame, operand, not holds)
        case ir.Boolean(op=op, left=left, right=right):
            sides = implied(frame, left, holds), implied(frame, right, holds)
            if (op == "and") is holds:
                return sides[0] + sides[1]
            shared = tuple(each for each in sides[0] if each in sides[1])
            return shared + _not_both(frame, node, op == "and")
        case ir.Walrus(value=inner):
            return implied(frame, inner, holds)
        case ir.Name() | ir.Attribute() if (stored := condition(frame, node)) is not None:
            found = stored.true if holds else stored.false
            own = _settled_key(frame, node, holds) if stored.key is None else ()
            return found + own + by_name(frame, node, holds)
        case ir.Compare(left=left) if counts_devices(frame, left):
            return _settled_key(frame, node, holds) + of_count(node, holds)
        case ir.Call() if (asked := asked_attribute(frame, node)) is not None:
            key = asks_attribute(*asked)
            return ((key, holds),) if key else ()
    found = _settled_key(frame, node, holds)
    if proves_cuda(frame, node, holds):
        found += ((CUDA_AVAILABLE, True),)
    return found + by_name(frame, node, holds) + of_host(frame, node, holds)


def _not_both(frame: Frame, node: ir.Boolean, positive: bool) -> Settled:
    """That not all of several conditions hold (of an `and`), or fail (of an `or`)."""
    literals = _settled_key(frame, node.left, positive) + _settled_key(frame, node.right, positive)
    return ((all_of(literals), False),) if len(literals) == 2 else ()


def _settled_key(frame: Frame, node: ir.Expr, holds: bool) -> Settled:
    """What is settled of the key of a condition, if it has one."""
    key = key_of(frame, node)
    return () if key is None else ((key[0], key[1] is holds),)


def key_of(frame: Frame, node: ir.Expr) -> Literal | None:
    """The key of a condition and whether `node` is true where the key holds; None where the
    condition may change between two looks at it, or tells the very devices apart."""
    node = meaning(frame, node)
    match node:
        case ir.Unary(op="not", operand=operand):
            key = key_of(frame, operand)
            return None if key is None else (key[0], not key[1])
        case ir.Call() if (asked := asked_attribute(frame, node)) is not None:
            subject, attr = asked  # one that isn't there is left out, as one that is None is
            has_key = is_named(subject) and not is_about_devices(attr)
            return (f"{identity(subject)}.{attr}{IS_NONE}", False) if has_key else None
        case ir.Call(func=func):
            name = dotted(frame, func)
            if name in ("builtins.isinstance", "torch.is_tensor"):
                return frame.file.once(_asked_type, node, frame)
            asks = name.endswith(".is_available") or f"{name}()" in OF_PROCESSES
            return (f"{name}()", True) if asks else None
        case ir.Attribute() if (kept := condition(frame, node)) is not None and kept.key:
            return kept.key
        case ir.Name(id=name):
            kept = condition(frame, node)
            if kept is not None:
                return kept.key or (local_name(frame, name), True)
            if (told := _as_callers_know_it(frame, frame.look_up(name), name)) is not None:
                return told
        case ir.Attribute(attr=attr):
            if (told := _as_callers_know_it(frame, stored(frame, node), attr)) is not None:
                return told
        case ir.Compare(left=left) if counts_devices(frame, left):
            some, none = (dict(of_count(node, side)).get(CUDA_AVAILABLE) for side in (True, False))
            if some is not None and none is (not some):
                return CUDA_AVAILABLE, some
            of_names = replace(node, left=ir.Name(DEVICES_COUNTED))
            return counted(node) or _words(of_names, frame, (DEVICES_COUNTED,))
        case ir.Compare(op="is" | "is not" as op, left=ir.Call(func=func), right=ir.Constant(None)):
            if dotted(frame, func) == "torch.utils.data.get_worker_info":
                return IN_NO_WORKER, op == "is"
        case ir.Compare(op="is" | "is not" as op, left=ir.Name(id=name), right=ir.Constant(None)):
            absent = _absent_argument(frame, name)
            if absent is not None:
                return absent + IS_NONE, op == "is"
        case ir.Compare(op=">", left=left, right=ir.Constant(value=0)) if _is_truth(frame, left):
            return key_of(frame, left)
    if isinstance(node, ir.Compare) and _compares_places(frame, node):
        return None
    known = {} if frame.caller is None else _known_to_callers(frame, node)
    key = frame.file.once(_spelled, (node, tuple(known.items())), frame)
    if key is None and (paths := paths_in(frame, node)):
        others = ((name, path) for name, path in paths.items() if name not in known)
        key = frame.file.once(_spelled, (node, (*known.items(), *others)), frame)
    if key is not None and _found_out(frame, node):
        return local_name(frame, key[0]), key[1]
    return key


def _as_callers_know_it(frame: Frame, value: Value | None, name: str) -> Literal | None:
    """The key of what an argument, or what an object was given, is to who calls."""
    if frame.caller is None or value is None or not isinstance(value.data, Path):
        return None
    path = value.data.text
    return (path, True) if path != name and ".device" not in path else None


def _known_to_callers(frame: Frame, node: ir.Expr) -> dict[str, str]:
    """The names in a condition, and the attributes of objects that a call has made, that stand for
    what an argument is to who calls, each with the path of that. A method that runs on its own has
    its own names for what its object holds."""
    found: dict[str, str] = {}
    for each in frame.file.once(_paths_in, node):
        holder = frame.look_up(root_name(each)) if isinstance(each, ir.Attribute) else None
        is_own = holder is not None and holder.data == (frame.class_of(holder), "self")
        value = None if is_own else stored(frame, each)
        if value is not None and isinstance(value.data, Path):
            name, path = dotted_name(each), value.data.text
            if name != path and ".device" not in path and not is_local(path):
                found[name] = path
    return found


def _paths_in(node: ir.Expr) -> list[ir.Name | ir.Attribute]:
    """The names and the attributes in an expression."""
    return [each for each in descendants(node) if isinstance(each, (ir.Name, ir.Attribute))]


def parting(frame: Frame, node: ir.Expr) -> Literal | None:
    """As `key_of`, of a condition that parts two paths: it may ask whether a place is the host,
    which says where things are that are there on one of them."""
    return key_of(frame, node) or host_key(frame, node)


def _spelled(
    condition: tuple[ir.Expr, tuple[tuple[str, str], ...]], frame: Frame
) -> Literal | None:
    """As `_words`, with paths in the place of some names."""
    node, paths = condition
    return _words(spelled_out(node, dict(paths)), frame, [path for _, path in paths])


def _words(node: ir.Expr, frame: Frame, paths: Collection[str] = ()) -> Literal | None:
    """The key of a condition as it is written, where that means the same at each look at it; with
    `paths`, which do, in the place of names."""
    if not _is_stable(frame, node, paths):
        return None
    text = ir.render(node, 200)
    if len(text) > LONGEST or any(map(_asks_place, descendants(node))):
        return None
    if isinstance(node, ir.Compare) and is_one_of(frame, node.right, _DEVICE_NAMES):
        return None  # it tells what the device is: the two branches are no free choice
    if isinstance(node, ir.Compare) and node.op in ("!=", "is not", "not in"):
        positive = {"!=": "==", "is not": "is", "not in": "in"}[node.op]
        return ir.render(ir.Compare(positive, node.left, node.right), 200), False
    return text, True


def _asks_place(node: ir.Node) -> bool:
    """Whether a node is what torch's objects tell of where they are."""
    return isinstance(node, ir.Attribute) and node.attr in ("device", "is_cuda")


def _compares_places(frame: Frame, node: ir.Compare) -> bool:
    """Whether a device is compared, under whatever name: the two branches are no free choice."""
    values = (stored(frame, each) for each in (node.left, node.right))
    return node.op in ("==", "!=") and any(v is not None and v.kind is Kind.DEVICE for v in values)


def _found_out(frame: Frame, node: ir.Expr) -> bool:
    """Whether an object has found out by itself what a condition asks of it: nobody chooses it."""
    value = stored(frame, node) if isinstance(node, ir.Attribute) else None
    return value is not None and isinstance(value.data, Condition) and value.data.key is None


def _is_truth(frame: Frame, node: ir.Expr) -> bool:
    """Whether an expression is a condition that was stored: `self.use_gpu` of `n_gpus > 0`."""
    value = stored(frame, node)
    return value is not None and (value.kind is Kind.BOOL or isinstance(value.data, Condition))


def _asked_type(node: ir.Call, frame: Frame) -> Literal | None:
    """The key of a test whether an argument is a tensor, or something of which one may be made."""
    subject = node.args[0].value if node.args else node
    text = ir.render(node, 200)
    if not isinstance(subject, ir.Name) or len(text) > LONGEST:
        return None
    names = dotted_types(frame, node.args[1].value) if len(node.args) > 1 else {"torch.Tensor"}
    if names == {"torch.Tensor"}:
        return f"not {text}", False
    return (text, True) if names <= _MADE_TENSORS_OF else None


_MADE_TENSORS_OF = frozenset(
    ("builtins.list", "builtins.tuple", "builtins.int", "builtins.float", "builtins.bool",
     "numbers.Number", "numbers.Real", "numpy.ndarray", "typing.Sequence", "typing.Iterable",
     "collections.abc.Sequence", "collections.abc.Iterable")
)  # fmt: skip


_MAY_BE_ABSENT = (Kind.UNKNOWN, Kind.TENSOR, Kind.BATCH, Kind.PLACED)


def _absent_argument(frame: Frame, name: str) -> str | None:
    """The name, as who calls knows it, of what is asked whether it is None: most likely an argument
    that may be left out, for which the branch puts in a default."""
    value = frame.look_up(name)
    if value is None or value.kind not in _MAY_BE_ABSENT:
        return None
    if frame.caller is not None and isinstance(value.data, Path):
        return value.data.text
    return name


def _is_stable(frame: Frame, node: ir.Expr, paths: Collection[str]) -> bool:
    """Whether an expression names parameters, constants, `paths` and attributes only. What the
    running function binds itself may differ next time."""
    match node:
        case ir.Constant():
            return True
        case ir.Name(id=name):
            return name in paths or not frame.binds(name)
        case ir.Attribute(value=value) | ir.Unary(operand=value):
            return _is_stable(frame, value, paths)
        case ir.Subscript(value=value, index=ir.Constant()):
            return _is_stable(frame, value, paths)
        case ir.Compare(left=left, right=right) | ir.Binary(left=left, right=right):
            return _is_stable(frame, left, paths) and _is_stable(frame, right, paths)
    return False


def has_keys(frame: Frame, test: ir.Expr) -> bool:
    """Whether each condition of which a test is made has a key."""
    return all(key_of(frame, term) is not None for term in terms(test))
