"""Classes of the file: their bases, what they define, and what they are for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from devlint import ir
from devlint.flow.facts import Role
from devlint.flow.frame import ClassInfo, File, Frame
from devlint.flow.library import dotted
from devlint.flow.scan import self_attribute
from devlint.flow.values import Kind

_MODULE_NAMES = re.compile(r"(^|\.)(nn\.Module|LightningModule|PreTrainedModel|ModelMixin)$")
_CALLED_MODULE = re.compile(r"(?<!Data)Module$")
_DATA = re.compile(
    r"Dataset$|DataSet$|Sampler$|Transforms?$|Collat(e|or)|DataModule$|DataLoader$|Augment|Tokenizer$"
    r"|FeatureExtractor$|Processor(Fast)?$"
)
_DATA_FUNCTION = re.compile(
    r"collate|^__getitem__$|^plot_|^visuali[sz]e|^draw_|^show_|worker_init|^augment|transform$"
)
_MANAGED = re.compile(r"LightningModule$|LightningDataModule$|^Fabric$")


def declare_class(frame: Frame, node: ir.Class) -> ClassInfo:
    """Describe a class once; later runs of the statement find it again."""
    known = frame.file.classes.get(node)
    if known is not None:
        return known
    info = ClassInfo(node, frame.file)
    bases: list[ClassInfo | str] = []
    for argument in node.bases:
        if argument.keyword is not None or argument.star:
            continue
        bases.append(_base(frame, argument.value))
    info.bases = tuple(base for base in bases if base != "builtins.object")
    above = (each for b in info.bases if isinstance(b, ClassInfo) for each in b.lineage())
    info.ancestors = tuple(dict.fromkeys(above))
    info.open_base = any(isinstance(b, str) and not _is_closed(frame, b) for b in info.bases)
    _declare_members(frame, info)
    info.is_module = _is_module(frame, info)
    info.role = _role(info) if frame.role is not Role.TEST else Role.TEST
    frame.file.classes[node] = info
    return info


def mark_mixins(classes: Iterable[ClassInfo]) -> None:
    """A class that stands beside an nn.Module among the bases of another is one, as far as its
    methods can tell: `class Layer(nn.Module, Adapted)`."""
    for info in list(classes):
        for base in info.ancestors if info.is_module else ():
            if not base.is_module and base.file is info.file and base.role is Role.PLAIN:
                base.is_module = base.open_base = True
                base.role = Role.MODULE


def _base(frame: Frame, node: ir.Expr) -> ClassInfo | str:
    if isinstance(node, ir.Subscript):
        node = node.value
    name = dotted(frame, node)
    if not name or not _MODULE_NAMES.search(name):
        before, frame.expecting = frame.expecting, True
        value = frame.evaluate(node)
        frame.expecting = before
        if value.kind is Kind.CLASS and isinstance(value.data, ClassInfo):
            return value.data
        if value.kind is Kind.LIBRARY:
            name = str(value.data)
    return name or "?"


def _is_closed(frame: Frame, name: str) -> bool:
    """Whether all that a library's class defines is known: torch's own modules, and Python's."""
    return name.startswith(("torch.nn.", "abc.", "typing.", "builtins.", "torch.utils.data."))


def _declare_members(frame: Frame, info: ClassInfo) -> None:
    for statement in info.node.body:
        if isinstance(statement, ir.Function):
            info.methods.setdefault(statement.name, statement)
            if any(_is_property(decorator) for decorator in statement.decorators):
                info.properties.add(statement.name)
        elif isinstance(statement, ir.Assign):
            for target in statement.targets:
                if isinstance(target, ir.Name):
                    info.attributes.add(target.id)
    for method in info.methods.values():
        scan = frame.file.scan(method)
        info.attributes |= scan.self_stores
        info.open_base |= scan.dynamic or bool({"setattr", "vars"} & scan.called)


def _is_property(node: ir.Expr) -> bool:
    name = ir.render(node)
    return name.endswith("property") or ".setter" in name


def _is_module(frame: Frame, info: ClassInfo) -> bool:
    """A base is an nn.Module; or, where a base isn't known, it has a `forward` and layers."""
    for base in info.bases:
        if isinstance(base, ClassInfo):
            if base.is_module:
                return True
        elif _MODULE_NAMES.search(base):
            return True
        else:
            row = frame.world.table.get(base)
            if row is not None and row.kind == "module":
                return True
    if not _has_unseen_base(info):
        return False
    registers = any(frame.file.scan(m).registers for m in info.methods.values())
    return registers or info.method("forward") is not None or _holds_layers(frame, info)


def _holds_layers(frame: Frame, info: ClassInfo) -> bool:
    """Whether a base that isn't seen is called a module, and the constructor makes layers."""
    init = info.methods.get("__init__")
    named = any(_CALLED_MODULE.search(base) for base in info.library_bases())
    if init is None or not named:
        return False
    made = (s.value.func for s in init.body if _stores_call(s, init.params[0].name))  # type: ignore[attr-defined]
    return any(dotted(frame, func).startswith("torch.nn.") for func in made)


def _stores_call(statement: ir.Stmt, this: str) -> bool:
    """`self.layer = nn.Linear(2, 3)`"""
    if not isinstance(statement, ir.Assign) or not isinstance(statement.value, ir.Call):
        return False
    return any(self_attribute(target, this) for target in statement.targets)


def _has_unseen_base(info: ClassInfo) -> bool:
    """Whether a base comes from another file of the project or a library without rows. With a
    `forward` of its own, such a class is an nn.Module in all code seen; `torch.autograd.Function`,
    the one other base with a `forward`, is torch's own."""
    return any(not base.startswith(_NO_MODULES) for base in info.library_bases())


_NO_MODULES = ("torch.", "builtins.", "abc.", "typing.", "enum.", "dataclasses.", "collections.")


def _role(info: ClassInfo) -> Role:
    names = [info.node.name, *(b if isinstance(b, str) else b.node.name for b in info.bases)]
    for base in info.bases:
        if isinstance(base, ClassInfo) and base.role is not Role.PLAIN:
            return base.role
    if any(_MANAGED.search(name) for name in names):
        return Role.MANAGED
    if not info.is_module and any(_DATA.search(name) for name in names):
        return Role.DATA
    if info.is_module:
        return Role.MODULE
    if _draws_for_samples(info):
        return Role.DATA
    if info.node.name.startswith("Test") or any("TestCase" in name for name in names):
        return Role.TEST
    return Role.PLAIN


def _draws_for_samples(info: ClassInfo) -> bool:
    """Whether its objects are called to change a sample at random: with Python's own numbers, one
    call for each sample, as data sets do."""
    call = info.methods.get("__call__")
    return call is not None and info.file.scan(call).draws


def role_of(name: str, owner: ClassInfo | None, around: Role, file: File) -> Role:
    """What a function is for, by its class, its name, its uses and the code around it."""
    if around in (Role.TEST, Role.DATA):
        return around
    if name in _collators(file):
        return Role.DATA
    if owner is not None and owner.role is not Role.PLAIN:
        return owner.role
    if _DATA_FUNCTION.search(name):
        return Role.DATA
    if name.startswith("test_"):
        return Role.TEST
    return around


def _collators(file: File) -> frozenset[str]:
    """The functions and methods of the linted file that it gives to loaders to make batches."""
    if file.collators is None:
        found: set[str] = set()
        for statement in file.body if file.guest is None else ():
            body = statement.body if isinstance(statement, ir.Class) else (statement,)
            for function in body:
                if isinstance(function, ir.Function):
                    found |= file.scan(function).collates
        file.collators = frozenset(found)
    return file.collators
