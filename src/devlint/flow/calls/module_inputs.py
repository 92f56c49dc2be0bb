"""The arguments of a module's call: those that may be tensors, and have to be where the module is,
and a device to which the module takes them; which tensors are counts, flags and indices, that the
host may read."""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step, first
from devlint.flow.domain.paths import identity
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import MADE, TENSORS, Kind, Value, as_loaded
from devlint.flow.facts import Role
from devlint.flow.frames.arguments import Arguments, Given
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.model.trees import last_name
from devlint.policy import means
from devlint.torchapi.effects import Effect

_MAY_HOLD_TENSORS = (*TENSORS, Kind.ENCODING, Kind.TUPLE, Kind.LIST)


def may_hold_tensors(frame: Frame, module: Object | None, args: Arguments) -> list[Given]:
    """The arguments of a module whose class isn't seen, without those that may be on the CPU
    whatever it does. What a model is for comes first; that it needs others where it is, too, is
    taken to be so where nothing but their names tells."""
    hidden = _is_hidden(frame, module)
    known = module is not None and module.source
    customs = ("host-number", "no-tensor") if known else ("host-number", "no-tensor", "index")
    found: list[Given] = []
    for position, (argument, value) in enumerate(args.all):
        name = argument.keyword or ""
        value = value if hidden else as_loaded(value)
        if value.kind not in _MAY_HOLD_TENSORS:
            continue
        called = name or identity(_subject(argument.value))
        if any(means(each, called, "variable") for each in customs):
            continue  # it is no tensor, or is on the host by custom
        if position and hidden and not means("tensor", name, "variable"):
            if is_of_integers(value):
                continue
            value = value.but(trace=Step(Sort.OTHER_INPUT, argument, value.trace))
        found.append((argument.value, value))
    return found


def _subject(node: ir.Expr) -> ir.Expr:
    """`lengths` of `lengths.repeat(2)` and `lengths[order]`."""
    while True:
        match node:
            case ir.Call(func=ir.Attribute(value=inner)) | ir.Subscript(value=inner):
                node = inner
            case _:
                return node


def _is_hidden(frame: Frame, module: Object | None) -> bool:
    """Whether nothing tells what a module does with what it is given: neither its class, nor the
    method of another module that calls it."""
    row = None if module is None else frame.world.table.get(module.library_class)
    known = row is not None and row.effect is Effect.CONSTRUCT  # what was loaded is of any class
    return not known and frame.role is not Role.MODULE


def is_given_device(args: Arguments) -> bool:
    """`model(batch, device)`, `model(batch, device=self.device)`"""
    return any(
        argument.keyword == "device" or means("device", last_name(argument.value), "variable")
        for argument, _ in args.all
    )


def is_of_integers(value: Value) -> bool:
    """Whether a tensor was made of integers or truth values: counts and flags that the host reads,
    as likely as indices."""
    made = first(value.trace) if value.origin in MADE else None
    if not isinstance(made, ir.Call):
        return False
    dtype = next((each.value for each in made.args if each.keyword == "dtype"), None)
    if dtype is not None:
        return last_name(dtype) in _INTEGERS
    name = last_name(made.func)
    if name in ("tensor", "as_tensor"):
        return bool(made.args) and _lists_integers(made.args[0].value)
    return name in _MAKE_INTEGERS


def _lists_integers(node: ir.Expr) -> bool:
    """`[16] * n`, `[[1, 2]]`, `[False]` and `[len(x)]`."""
    match node:
        case ir.Constant(value=value):
            return type(value) in (int, bool)
        case ir.Call(func=ir.Name(id="len")):
            return True
        case ir.Display(items=items):
            return bool(items) and all(_lists_integers(item) for item in items)
        case ir.Binary(op="*", left=left, right=right):
            return any(isinstance(e, ir.Display) and _lists_integers(e) for e in (left, right))
    return False


_INTEGERS = frozenset("int8 int16 int32 int64 uint8 uint16 uint32 uint64 int long short".split())
_MAKE_INTEGERS = frozenset(("arange", "randint", "randperm", "LongTensor", "IntTensor"))
