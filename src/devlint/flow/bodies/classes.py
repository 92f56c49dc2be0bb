"""Classes of the file: their bases, what they define, and what they are for."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.flow.domain.values import Kind
from devlint.flow.facts import Role
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import dotted
from devlint.flow.syntax.programs import is_class_of_tests
from devlint.flow.syntax.samples import Samples
from devlint.flow.syntax.walk import descendants, first_parameter, stored_calls
from devlint.model import ir
from devlint.model.trees import called, dotted_name, last_name
from devlint.policy import means
from devlint.torchapi.spellings import (
    is_known_class,
    is_managed_class,
    is_module_class,
    is_of_other_framework,
)


def declare_class(frame: Frame, node: ir.Class) -> ClassInfo:
    """Describe a class once; later runs of the statement find it again."""
    known = frame.file.classes.get(node)
    if known is not None:
        return known
    info = ClassInfo(node, frame.file)
    given = [each.value for each in node.bases if each.keyword is None and not each.star]
    bases = [_base(frame, each) for each in given]
    info.bases = tuple(base for base in bases if base != "builtins.object")
    above = (each for b in info.bases if isinstance(b, ClassInfo) for each in b.lineage())
    info.ancestors = tuple(dict.fromkeys(above))
    unseen = any(isinstance(b, str) and not is_known_class(b) for b in info.bases)
    info.open_base = unseen or bool(means("mixin", node.name, "class"))
    _declare_members(frame, info)
    info.is_module = _is_module(frame, info)
    info.role = _role(info) if frame.role is not Role.TEST else Role.TEST
    frame.file.classes[node] = info
    return info


def mark_mixins(classes: Iterable[ClassInfo]) -> None:
    """A class that stands beside an nn.Module among the bases of another is one, as far as its
    methods can tell: `class Layer(nn.Module, Adapted)`."""
    for info in classes:
        for base in info.ancestors if info.is_module else ():
            if not base.is_module and base.file is info.file and base.role is Role.PLAIN:
                base.is_module = base.open_base = True
                base.role = Role.MODULE


def _base(frame: Frame, node: ir.Expr) -> ClassInfo | str:
    if isinstance(node, ir.Subscript):
        node = node.value
    name = dotted(frame, node)
    if not name or not is_module_class(name):
        value = frame.ask(node)
        if value.kind is Kind.CLASS and isinstance(value.data, ClassInfo):
            return value.data
        if value.kind is Kind.LIBRARY:
            name = str(value.data)
    return name or "?"


def _declare_members(frame: Frame, info: ClassInfo) -> None:
    for statement in info.node.body:
        if isinstance(statement, ir.Function):
            name, spelled = statement.name, set(map(dotted_name, statement.decorators))
            if f"{name}.setter" in spelled:
                info.setters[name] = statement
            if name not in info.methods or spelled.isdisjoint(
                (f"{name}.setter", f"{name}.deleter")
            ):
                info.methods[name] = statement  # after what `typing.overload` says of it
            if any(_is_property(decorator) for decorator in statement.decorators):
                info.properties.add(statement.name)
        elif isinstance(statement, ir.Assign):
            for target in statement.targets:
                if isinstance(target, ir.Name):
                    info.attributes.add(target.id)
    for method in (*info.methods.values(), *info.setters.values()):
        scan = frame.file.scan(method)
        info.attributes |= scan.self_stores
        info.open_base |= scan.dynamic or bool({"setattr", "vars", "locals"} & scan.called)


def _is_property(node: ir.Expr) -> bool:
    name = last_name(called(node))
    return name.endswith("property") or name == "setter"


def _is_module(frame: Frame, info: ClassInfo) -> bool:
    """A base is an nn.Module; or, where a base isn't known, it has a `forward` with inputs, or
    layers."""
    if any(_is_base_of_modules(frame, base) for base in info.bases):
        return True
    if not _has_unseen_base(info):
        return False
    registers = any(frame.file.scan(m).registers for m in info.methods.values())
    return registers or _takes_inputs(info) or _holds_layers(frame, info)


def _is_base_of_modules(frame: Frame, base: ClassInfo | str) -> bool:
    if isinstance(base, ClassInfo):
        return base.is_module
    row = frame.world.table.get(base)
    return is_module_class(base) or (row is not None and row.kind == "module")


def _takes_inputs(info: ClassInfo) -> bool:
    """Whether a class has a `forward` that must be given something, as all but a few modules; what
    runs a model on what it holds itself (`strategy.forward()`) isn't one."""
    method = info.method("forward")
    if method is None:
        return False
    return any(p.kind.startswith("*") or p.default is None for p in method[1].params[1:])


def _holds_layers(frame: Frame, info: ClassInfo) -> bool:
    """Whether a base that isn't seen is called a module, and the constructor makes layers."""
    init = info.methods.get("__init__")
    named = any(means("module", base, "class") for base in info.library_bases())
    if init is None or not named:
        return False
    made = stored_calls(init.body, first_parameter(init))
    return any(dotted(frame, call.func).startswith("torch.nn.") for call in made)


def _has_unseen_base(info: ClassInfo) -> bool:
    """Whether a base comes from another file of the project or a library without rows. With a
    `forward` of its own, such a class is an nn.Module in all code seen, but for
    `torch.autograd.Function`, which is torch's own, and transforms of data."""
    bases = info.library_bases()
    others = (base for base in bases if not base.startswith(_NO_MODULES))
    unseen = (base for base in others if not is_of_other_framework(base))
    return any(not means("data", base, "class") for base in unseen)


_NO_MODULES = ("torch.", "builtins.", "abc.", "typing.", "enum.", "dataclasses.", "collections.")


def _names(info: ClassInfo) -> list[str]:
    return [info.node.name, *(b if isinstance(b, str) else b.node.name for b in info.bases)]


def is_named_for_data(info: ClassInfo) -> bool:
    """Whether a class, or one of its bases, has the name of a data set or a transform, or that of
    a sampler, and is gone over."""
    meanings = ("data",) if info.method("__iter__") is None else ("data", "sampler")
    return any(means(meaning, name, "class") for meaning in meanings for name in _names(info))


def _role(info: ClassInfo) -> Role:
    names = _names(info)
    for base in info.bases:
        if isinstance(base, ClassInfo) and base.role is not Role.PLAIN:
            return base.role
    if any(map(is_managed_class, names)):
        return Role.MANAGED
    if info.is_module:
        return Role.MODULE
    if is_named_for_data(info) or _draws_for_samples(info):
        return Role.DATA
    named = info.node.name.startswith("Test") or any("TestCase" in name for name in names)
    return Role.TEST if named or is_class_of_tests(info.node) else Role.PLAIN


def _draws_for_samples(info: ClassInfo) -> bool:
    """Whether its objects are called to change a sample at random: with Python's own numbers, one
    call for each sample, as data sets do."""
    call = info.methods.get("__call__")
    return call is not None and info.file.scan(call).draws


def role_of(name: str, owner: ClassInfo | None, around: Role, file: File) -> Role:
    """What a function is for, by its class, its name, its uses and the code around it."""
    if around in (Role.TEST, Role.DATA):
        return around
    of_samples = file.once(_of_samples, file)
    if name in of_samples or (owner is not None and owner.node.name in of_samples):
        return Role.DATA
    if owner is not None and owner.role is not Role.PLAIN:
        return owner.role
    if name == "__getitem__" or means("data", name, "function"):
        return Role.DATA
    if name.startswith("test_"):
        return Role.TEST
    return around


def _of_samples(file: File) -> frozenset[str]:
    """The functions and methods of the linted file that it gives to loaders to make batches, the
    classes with which it changes samples, and the functions that only those which make batches by
    their names call."""
    top, found = Samples(), set[str]()
    by_data, by_others = set[str](), set[str]()
    for statement in file.body if file.guest is None else ():
        if not isinstance(statement, _DEFINES):
            for node in descendants(statement):
                top.see(node)
                if isinstance(node, ir.Name):
                    by_others.add(node.id)
        info = statement if isinstance(statement, ir.Class) else None
        collates = info is not None and means("collator", info.name, "class")
        for function in (statement,) if info is None else info.body:
            if isinstance(function, ir.Function):
                scan = file.scan(function)
                found |= scan.of_samples
                collating = collates or means("collator", function.name, "function")
                (by_data if collating else by_others).update(scan.called, scan.given)
    return frozenset(found | top.names() | (by_data - by_others))


_DEFINES = (ir.Class, ir.Function, ir.Import, ir.ImportFrom)


def is_never_set_up(init: ir.Function) -> bool:
    """Whether a module's constructor calls `super(Own).__init__()`: a `super` without an
    object reaches no base, so PyTorch refuses the first parameter, and any call."""
    for statement in init.body:
        match statement:
            case ir.Evaluate(
                value=ir.Call(
                    func=ir.Attribute(
                        value=ir.Call(func=ir.Name(id="super"), args=(_,)), attr="__init__"
                    )
                )
            ):
                return True
    return False
