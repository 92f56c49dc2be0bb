"""`value.attribute = ...`: what an object holds from then on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.paths import Path, identity, path_value
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Origin, Value, in_place_of, with_gradient
from devlint.flow.facts import AttributeWrite
from devlint.flow.frames import protocols
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.protocols import runs_again
from devlint.flow.modules.holdings import inherits_buffer
from devlint.flow.modules.placement import forget_optimizer, is_registered, outermost, place_module
from devlint.flow.syntax.walk import (
    first_parameter,
    mentions,
    nodes_of,
    self_attribute,
    statements_of,
)
from devlint.model import ir
from devlint.model.trees import last_name


def store(
    frame: Frame, node: ir.Attribute, value: Value, statement: ir.Assign | ir.Augment | ir.Evaluate
) -> None:
    """`base.attr = value`."""
    base, path = frame.evaluate(node.value), identity(node)
    if base.kind is Kind.MODULE and value.trait is Trait.LOADED:
        value = NOTHING  # a parameter or a module that was in a file goes with it
    if node.attr == "data" and isinstance(node.value, ir.Attribute):
        _fill_by_hand(frame, frame.evaluate(node.value.value), value)
    if node.attr == "data" and base.kind is Kind.TENSOR:  # the tensor itself takes the new place
        told = Step(Sort.MOVE_DATA, node, base.trace)
        here = base.but(device=frame.place(value), origin=Origin.MOVED, trace=told)
        frame.world.store(frame, node.value, here)
        if isinstance(node.value, ir.Name) and here.device != base.device:
            for module in _whose_parameters(frame, node.value.id):
                place_module(frame, module, UNKNOWN)
        return
    if base.kind is Kind.TENSOR and isinstance(node.value, ir.Name):
        if node.attr == "grad" or (node.attr == "requires_grad" and value.data is True):
            frame.state.env[node.value.id] = with_gradient(base)
    found, info = frame.object(base), frame.class_of(base)
    if info is not None and (setter := info.setter(node.attr)) is not None:
        owner, function = setter
        frame.world.invoke(frame, node, owner.closure_of(function), [base, value], {})
        return
    if protocols.stores_itself(frame, node, base, node.attr, value):
        return
    kept = None if info is None else protocols.in_body(info, node.attr)
    if kept is not None and protocols.defines(frame, kept, "__set__"):
        protocols.answer(frame, node, kept, "__set__", base, value)
        return
    is_module = base.kind is Kind.MODULE and base.trait is Trait.SELF
    before = None if found is None else found.entries.get(node.attr)
    if before is not None:
        value = replacing(frame, node, before, value)
    if is_module and _is_refused(before, value):
        return
    if base.trait is not Trait.SELF:
        frame.world.of_file.written.add(node.attr)
    written = statement.value or node
    if is_module and info is not None and (frame.tells or _is_made(frame)):
        operand = frame.operand(written, value)
        noted = frame.world.classes.stores if frame.tells else frame.world.classes.inherited
        stores = noted.setdefault((info, node.attr), [])
        if all(known is not statement for known, _ in stores):
            stores.append((statement, operand))
    if value.kind is Kind.MODULE and _is_of_file(frame, written):
        frame.world.filled_by_hand.add(value.data)  # what holds it now may be moved
    is_device = node.attr == "device"
    if frame.tells and (is_module or (is_device and not _is_replaced(frame.file, node.attr))):
        frame.record(
            AttributeWrite(
                statement,
                frame.context(),
                frame.operand(node.value, base),
                node.attr,
                frame.operand(written, value),
                is_module,
                _is_made_anew(frame, info, node.attr, before),
            )
        )
    if found is not None and base.kind in (Kind.MODULE, Kind.INSTANCE):
        if not is_module and value.kind in (Kind.TENSOR, Kind.PLACED) and not _is_own(frame, node):
            _fill_by_hand(frame, base, value)
        registered = before is not None and before.trait is Trait.BUFFER
        if is_module and info is not None:
            registered = registered or inherits_buffer(frame, info, node.attr)
        if registered and value.kind is Kind.TENSOR:
            value = value.but(trait=Trait.BUFFER)
        holds = value.kind in (Kind.MODULE, Kind.TENSOR) or value.kind.is_container
        frame.state.answer_anew(path)
        frame.state.paths.pop(path, None)
        several = [base] if base.data in frame.state.heap else []
        for each in dict.fromkeys((*frame.each(base), *several)):  # whichever of several it is
            if (one := frame.object(each)) is not None:
                stateless = one.stateless and not holds
                frame.update(each, replace(one.with_entry(node.attr, value), stateless=stateless))
    elif found is not None and base.kind is Kind.ENCODING:
        frame.update(base, found.with_entry(node.attr, value))
    elif base.kind is Kind.OPTIMIZER:
        forget_optimizer(frame, base)
    elif base.kind is Kind.BATCH and isinstance(node.value, ir.Name):  # it is in one place no more
        frame.state.env[node.value.id] = path_value(node.value.id)
        frame.state.paths[path] = value
    elif isinstance(base.data, Path) or base.kind in (Kind.UNKNOWN, Kind.CLASS):
        if path:
            frame.state.paths[path] = value
        put_in(frame, node, value)


def _whose_parameters(frame: Frame, name: str) -> Iterator[Value]:
    """The modules over whose parameters a loop goes that binds a name."""
    for each in statements_of(frame.body or frame.file.body):
        match each:
            case ir.For(target=target, iter=ir.Call(func=ir.Attribute(value=whole, attr=attr))):
                if attr in _PARAMETERS and mentions(target, name):
                    module = frame.ask(whole)
                    if module.kind is Kind.MODULE:
                        yield module


_PARAMETERS = ("parameters", "named_parameters", "buffers", "named_buffers")


def replacing(frame: Frame, node: ir.Expr, before: Value, value: Value) -> Value:
    """What takes the place of another value, which may be a container, too: a dict of what a file
    holds is one of tensors where that was one (`self.shadow = state["shadow"]`)."""
    kept = frame.object(before) if before.kind.is_container else None
    if kept is None:
        return in_place_of(before, value)
    found = frame.object(value) if value.kind is before.kind else None
    part = value.but(data=None) if found is None else found.elements()
    if part.trait is not Trait.LOADED:
        return value
    element = replacing(frame, node, kept.elements(), part)
    return Value(before.kind, data=frame.allocate(node, Object(element=element)))


def remove(frame: Frame, node: ir.Attribute) -> None:
    """`del base.attr`."""
    base = frame.evaluate(node.value)
    found = frame.object(base)
    frame.state.paths.pop(identity(node), None)
    if found is not None and base.kind in (Kind.MODULE, Kind.INSTANCE):
        frame.update(base, found.without((node.attr,)))


def _is_refused(before: Value | None, value: Value) -> bool:
    """Whether PyTorch ends the program here: where a parameter is registered, it takes parameters
    alone."""
    if before is None or before.kind is not Kind.TENSOR or before.trait is not Trait.PARAMETER:
        return False
    return value.kind is Kind.TENSOR and value.trait is None


def _is_of_file(frame: Frame, node: ir.Expr) -> bool:
    """Whether what a function stores is a name of the file: other functions find it there."""
    if not isinstance(node, ir.Name) or frame.function is None:
        return False
    return not any(node.id in names for names in frame.scopes)


def _is_made_anew(frame: Frame, info: ClassInfo | None, name: str, value: Value | None) -> bool:
    """Whether a method that runs again makes a parameter or a buffer which another one has made:
    what nobody else makes, it makes for the constructor."""
    functions = (each.function for each in frame.chain())
    again = frame.runs_in("reset_parameters") and any(map(runs_again, filter(None, functions)))
    if not again or info is None or value is None or not is_registered(value):
        return False
    classes = frame.world.classes
    stores = {
        each
        for noted in (classes.stores, classes.inherited)
        for each, _ in noted.get((info, name), ())
    }
    return value.trait is Trait.BUFFER or len(stores) > 1


def _is_made(frame: Frame) -> bool:
    """Whether a constructor runs, or what it calls."""
    return frame.runs_in("__init__")


def _is_own(frame: Frame, node: ir.Attribute) -> bool:
    """Whether a method writes to its own object: then it has just what the method says."""
    if frame.owner is None or frame.function is None:
        return False
    return bool(self_attribute(node, first_parameter(frame.function)))


def _fill_by_hand(frame: Frame, module: Value, value: Value) -> None:
    """Somebody puts a tensor of another place into a module (`cell.weight.data = gru.weight.data`,
    `net.table = net.table.to(x)`): it may be all that has to be there."""
    if module.kind is Kind.MODULE and module.trait is not Trait.SELF:
        if frame.place(value) != frame.place(module):
            place_module(frame, module, UNKNOWN)
            frame.world.filled_by_hand.add(module.data)


def put_in(frame: Frame, target: ir.Expr, value: Value) -> None:
    """`model.head.fc = layer`, `model.classifier[6] = layer`: where nothing is known of what is in
    between, the module that is known holds it."""
    if value.kind is not Kind.MODULE:
        return
    inner: ir.Expr = target
    while isinstance(inner, (ir.Attribute, ir.Subscript)):
        inner = inner.value
        base = frame.evaluate(inner)
        found = frame.object(base)
        if outermost(base.data) is not base.data:
            continue  # a part: what holds it is known, too
        if base.kind is Kind.MODULE and base.trait is not Trait.SELF and found is not None:
            name = _below(target, inner)
            frame.update(base, found.with_entry(name, value))
            return


def _below(node: ir.Expr, whole: ir.Expr) -> str:
    """What leads from a whole to a part of it: `head.fc` of `model.head.fc`."""
    if not isinstance(node, (ir.Attribute, ir.Subscript)) or node is whole:
        return ""
    before = _below(node.value, whole)
    if isinstance(node, ir.Attribute):
        return f"{before}.{node.attr}" if before else node.attr
    return f"{before}[{ir.render(node.index)}]"


def _is_replaced(file: File, attr: str) -> bool:
    """Whether a file patches an attribute of all tensors, as a test does that emulates an
    accelerator: `patch("torch.Tensor.device", ...)`, `monkeypatch.setattr(torch.Tensor, "device",
    ...)`. Then it may be assigned."""
    return attr in file.once(_all_replaced, file.body)


def _all_replaced(body: ir.Body) -> set[str]:
    return {_replaced(node) for node in nodes_of(body) if isinstance(node, ir.Call)}


def _replaced(call: ir.Call) -> str:
    """The attribute of all tensors that a call replaces, else ""."""
    match [argument.value for argument in call.args[:2]]:
        case [ir.Constant(value=str(name)), *_]:
            owner, _, attr = name.rpartition(".")
            return attr if owner.endswith("Tensor") else ""
        case [ir.Name() | ir.Attribute() as owner, ir.Constant(value=str(attr))]:
            return attr if last_name(owner).endswith("Tensor") else ""
    return ""
