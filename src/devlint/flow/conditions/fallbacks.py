"""Expressions that put in a default for a device or an index, and lose what somebody gave."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.conditions import implications
from devlint.flow.devices.named import string_value
from devlint.flow.domain.devicestring import spells_device
from devlint.flow.domain.lattice import UNKNOWN, Known
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NAMED, NOTHING, Kind, Value
from devlint.flow.facts import Loss, LossyDefault
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.syntax.walk import parameter_named
from devlint.model import ir
from devlint.model.trees import integer, last_name, terms
from devlint.policy import means

_NO_CHOICE = ("meta", "mtia")
_MAY_BE_INDEX = (Kind.UNKNOWN, Kind.NUMBER, Kind.NAMESPACE)


def look_at(frame: Frame, node: ir.Boolean, values: list[Value]) -> None:
    """Tell of an `or` that loses something. `values` are those of its terms."""
    left, right = node.left, node.right
    if isinstance(left, ir.Boolean):
        return
    kept, default = (left, values[-2]), (right, values[-1])
    if _is_lossy_index(left, values[-2], right, values[-1]) and not frame.testing:
        _tell(frame, node, Loss.INDEX, kept, default, *_rows(left, *_INDICES))
    elif _names_device(right) and isinstance(left, ir.Compare) and _asks_for_device(left):
        _tell(frame, right, Loss.ALWAYS, kept, default)
    elif _names_device(left):
        _tell(frame, left, Loss.ALWAYS, default, kept)


def look_at_choice(frame: Frame, node: ir.Conditional) -> None:
    """Tell of a `... if ... else ...` that loses something."""
    if not _spells_device(frame, node.orelse):
        return
    body = node.body
    if isinstance(body, ir.Boolean):
        plain = body.op == "or" and not isinstance(body.left, ir.Boolean) and not node.grouped
        if plain and _spells_device(frame, body.right) and _asks_what_is_there(frame, node.test):
            _tell(frame, node, Loss.BINDING, (body.left, NOTHING), (node.orelse, NOTHING))
    elif _spells_device(frame, body):
        for term in terms(node.test):
            if _is_device_string(frame, term):
                value = frame.ask(term)
                rows = _rows(term, "a-device")
                _tell(frame, term, Loss.TRUTH, (term, value), (node.orelse, NOTHING), *rows)


def _tell(
    frame: Frame,
    node: ir.Expr,
    how: Loss,
    kept: tuple[ir.Expr, Value],
    default: tuple[ir.Expr, Value],
    *by: str,
) -> None:
    """`by` are the rows of policy by which it is a device, or the index of one."""
    frame.record(
        LossyDefault(node, frame.context(*by), how, frame.operand(*kept), frame.operand(*default))
    )


_INDICES = ("device-index", "device-or-index")


def _rows(node: ir.Expr, *hypotheses: str) -> Iterator[str]:
    """The rows of policy by which an expression, or the device whose index it is, is one."""
    named = [means(each, last_name(node), "variable") for each in hypotheses]
    if isinstance(node, ir.Attribute) and node.attr == "index":
        named.append(means("about-devices", last_name(node.value), "variable"))
    yield from (row for row in named if row)


# --- an index ------------------------------------------------------------------------------------


def _is_lossy_index(left: ir.Expr, value: Value, right: ir.Expr, default: Value) -> bool:
    """Whether an index that may be 0 stands before an `or` whose other side is another index."""
    name = last_name(left)
    if not name or value.kind not in _MAY_BE_INDEX:
        return False
    of_device = isinstance(left, ir.Attribute) and name == "index" and _is_device(left.value, value)
    number = integer(right)
    may_be = _INDICES if number == -1 else ("device-index",)
    if not of_device and not any(means(each, name, "variable") for each in may_be):
        return False
    if number is not None:
        return number != 0
    if isinstance(right, ir.Call) and last_name(right.func) == "current_device":
        return True
    device = default.kind in NAMED and default.device != UNKNOWN
    return device or (of_device and bool(means("counter", last_name(right), "variable")))


def _is_device(node: ir.Expr, index: Value) -> bool:
    named = means("about-devices", last_name(node), "variable")
    return index.trait is Trait.INDEX_OF_DEVICE or bool(named)


# --- a device ------------------------------------------------------------------------------------


def _names_device(node: ir.Expr) -> bool:
    """A string that spells a device, such as "cuda" or "cpu"."""
    match node:
        case ir.Constant(value=str(text)):
            return spells_device(text) and not text.startswith(_NO_CHOICE)
    return False


def _spells_device(frame: Frame, node: ir.Expr) -> bool:
    """A device that the source spells: a string, or `torch.device("cuda")` of one."""
    if isinstance(node, ir.Call) and dotted(frame, node.func) == "torch.device":
        return bool(node.args) and _names_device(node.args[0].value)
    return _names_device(node)


def _asks_for_device(node: ir.Compare) -> bool:
    """`device.type == "cuda"`: a comparison with a device's name."""
    return node.op in ("==", "!=", "in") and _names_device(node.right)


def _asks_what_is_there(frame: Frame, node: ir.Expr) -> bool:
    """Whether a condition asks which devices the machine has, and nothing that a user said."""
    key = implications.key_of(frame, node)
    return key is not None and key[0].endswith("is_available()")


def _is_device_string(frame: Frame, node: ir.Expr) -> bool:
    """Whether a name of a device stands for a string: its truth tells nothing of which."""
    if not isinstance(node, (ir.Name, ir.Attribute)):
        return False
    if not means("a-device", last_name(node), "variable"):
        return False
    value = frame.ask(node)
    if value.kind is Kind.STRING:
        return value.data != ""
    if value.kind is Kind.DEVICE:
        return True
    default = default_of(frame, node)
    if default is None:
        return False
    named = frame.ask(default)
    text = named.data.lower() if isinstance(named.data, str) else ""
    is_device = text == "gpu" or isinstance(string_value(frame, text).device, Known)
    return named.kind is Kind.STRING and is_device


def default_of(frame: Frame, node: ir.Expr) -> ir.Expr | None:
    """The default of the parameter that a name still stands for."""
    function = frame.function
    if not isinstance(node, ir.Name) or function is None:
        return None
    found = None if frame.binds(node.id) else parameter_named(function, node.id)
    return None if found is None else found.default
