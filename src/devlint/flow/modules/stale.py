"""Devices that a module stores when it is made, and that stay as they are when it is moved."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from devlint.flow.conditions.hints import is_one_of
from devlint.flow.domain.derivation import Sort
from devlint.flow.domain.lattice import CPU, UNKNOWN, Symbol
from devlint.flow.domain.paths import Remembered
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.facts import KeptDevice, Operand
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.seen import Scan
from devlint.flow.syntax.walk import defaults_to_none, parameter_named
from devlint.model import ir
from devlint.model.reports import Hop

_NAMES_A_DEVICE = (Kind.DEVICE, Kind.STRING, Kind.NUMBER)


def remember(info: ClassInfo, frame: Frame, name: str, value: Value) -> Value:
    """What `self.name` is once the module may have been moved, where a constructor stored a
    device in it that nothing changes."""
    if value.kind not in (Kind.DEVICE, Kind.UNKNOWN):
        return value
    owner = (info, name)
    stores = _stores(frame, owner)
    read = value.trait is Trait.DEVICE_OF_TENSOR and value.device == CPU
    if len(stores) != 1 or not _is_stored_once(info, name):
        return Value(Kind.DEVICE) if read else value
    node = stores[0][1].node
    if read:
        return value.but(data=Remembered("", False, owner, moves=True))
    init = info.methods.get("__init__")
    if init is None or name not in info.file.scan(init).self_stores:
        return value  # what a base is given, its class decides
    if isinstance(node, ir.Name) and _left_out(info, node):
        return value.but(data=Remembered(node.id, False, owner))
    if _or_cpu(info, frame, node):
        text = f"the device that `self.{name}` holds"
        kept = Remembered(text, False, owner, moves=True)
        return value.but(device=Symbol(text, text, described=True), data=kept, trait=None)
    return value


def forget_devices(
    info: ClassInfo, frame: Frame, this: Value, followed: Collection[ir.Function]
) -> None:
    """Forget the devices that an object stores where another method stores them anew: it may have
    run since. `followed` are the methods whose stores are known already."""
    found = frame.state.heap[this.data]
    stored = {
        name
        for name in info.stored_later(followed) & found.entries.keys()
        if _names_a_device(found.entries[name])
    }
    if stored:
        frame.state.heap[this.data] = found.without(stored)


def _names_a_device(value: Value) -> bool:
    """Whether it names a device, or is a text that stands there until somebody names one (`""`)."""
    if value.kind not in _NAMES_A_DEVICE:
        return False
    return value.device != UNKNOWN or (value.kind is Kind.STRING and isinstance(value.data, str))


def _stores(frame: Frame, owner: tuple[ClassInfo, str]) -> list[tuple[ir.Stmt, Operand]]:
    """Where an attribute is written, by the class itself or by the constructor of a base in the
    file."""
    classes = frame.world.classes
    return classes.stores.get(owner) or classes.inherited.get(owner, [])


def _is_stored_once(info: ClassInfo, name: str) -> bool:
    """Whether one constructor in the file stores it, and no other method does, nor one that
    moves."""
    if info.moves_itself() or info.intercepts() or info.is_open:
        return False
    storing = [each for each in info.all_methods() if name in _scanned(*each).self_stores]
    return [(each.file, method.name) for each, method in storing] == [(info.file, "__init__")]


def _scanned(info: ClassInfo, method: ir.Function) -> Scan:
    return info.file.scan(method)


def _left_out(info: ClassInfo, node: ir.Expr) -> bool:
    """Whether a node is a parameter of the constructor that is None where it is left out."""
    if not isinstance(node, ir.Name):
        return False
    return defaults_to_none(parameter_named(info.methods["__init__"], node.id))


def _or_cpu(info: ClassInfo, frame: Frame, node: ir.Expr) -> bool:
    """`device or torch.device("cpu")`, and the same with `if`."""
    if isinstance(node, ir.Boolean):
        return _left_out(info, node.left) and is_one_of(frame, node.right, ("cpu",))
    if isinstance(node, ir.Conditional):
        parts = (node.body, node.orelse)
        given = any(_left_out(info, part) for part in parts)
        return given and any(is_one_of(frame, part, ("cpu",)) for part in parts)
    return False


def owner_of(value: Value, *, moved: bool = False) -> tuple[ClassInfo, str] | None:
    """Whose stored device a value is; with `moved` only where a move to it moves something, which
    one to None doesn't."""
    found = value.data
    if not isinstance(found, Remembered) or not isinstance(found.owner, tuple):
        return None
    return found.owner if found.moves or not moved else None


def use(frame: Frame, owner: tuple[ClassInfo, str], node: ir.Expr) -> None:
    """Something is made on a stored device, or moved there, at `node`."""
    if frame.notes:
        places = frame.world.classes.stale_uses.setdefault(owner, [])
        if node not in places:
            places.append(node)


def note_meeting(
    frame: Frame, operands: Sequence[Operand], node: ir.Node, *, shaped: bool = False
) -> None:
    """Remember where a tensor on a stored device met something that follows the module. One with
    no dimension may meet any; `shaped`: none of them is such."""
    for operand in operands:
        owner, free = operand.value.data, operand.value.scalar is not False and not shaped
        if operand.origin is not Origin.STALE or not isinstance(owner, tuple) or free:
            continue
        other = next((each for each in operands if _follows(each, operand)), None)
        if other is not None and frame.is_heard:
            words = f"`{operand}` is there, and meets `{other}` here"
            frame.world.classes.stale.setdefault(owner, []).append((node, words))


def _follows(partner: Operand, operand: Operand) -> bool:
    follows = partner.origin is Origin.FOLLOWS or partner.kind is Kind.MODULE
    placed = isinstance(partner.device, Symbol) and partner.device != operand.device
    return follows and placed and partner is not operand


def tell(info: ClassInfo, frame: Frame) -> None:
    """The facts of a class, when all its methods have run; what is written or passed elsewhere in
    the file may still change them."""
    for (owner, name), meetings in frame.world.classes.stale.items():
        if owner is not info or not frame.recording:
            continue
        statement, operand = _stores(frame, (owner, name))[0]
        hops = tuple(Hop(node, words, Sort.STORED.value) for node, words in dict(meetings).items())
        uses = tuple(frame.world.classes.stale_uses.get((owner, name), ()))
        parameter = operand.node.id if isinstance(operand.node, ir.Name) else ""
        fact = KeptDevice(
            statement, frame.context(), info.node.name, name, operand, parameter, uses, hops
        )
        frame.world.classes.remembered.append((info, fact))


def settled(frame: Frame) -> list[KeptDevice]:
    """What is left to be told: attributes that nobody else writes, of modules whose users don't
    all name a device."""
    world = frame.world
    return [
        fact
        for info, fact in world.classes.remembered
        if fact.attr not in world.of_file.written
        and (info.file.path, info.node.name, fact.parameter) not in world.of_file.passed
    ]
