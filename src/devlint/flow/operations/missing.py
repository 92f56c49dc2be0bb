"""What nothing binds: to read such a name, or such an attribute of an object, raises on every
device, so that nothing behind it runs."""

from __future__ import annotations

from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Value
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.bindings import bound_anywhere
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.policy import means
from devlint.torchapi.spellings import MODULE_ATTRIBUTES, OLD_BUILTINS


def is_unbound(frame: Frame, node: ir.Name) -> bool:
    """Whether nothing of a file binds a name that Python doesn't know either, and that a function
    reads: one that the file itself reads may be for its user to bind first."""
    file, name = frame.file, node.id
    if frame.function is None or not file.whole or name in OLD_BUILTINS:
        return False
    if name.startswith("__") or _is_reported(name):
        return False
    bound = file.once(_bound, file)
    return bound is not None and name not in bound


def is_missing(frame: Frame, base: Value, attr: str) -> bool:
    """Whether an object lacks an attribute, since neither its class nor anything else of the
    project gives it one of that name. Unless proved: no."""
    info = frame.class_of(base)
    project = frame.world.project
    if info is None or project is None or base.trait is not Trait.SELF or _is_reported(attr):
        return False
    if not info.once(_is_simple, info) or info.defines(attr) or info.binds(attr):
        return False
    files = {each.file for each in info.lineage()}
    if _knows(info, attr) or any(attr in each.once(_strings, each) for each in files):
        return False
    return not project.may_give(info.file.path, info.node.name, attr)


def leaves_default(frame: Frame, base: Value, attr: str) -> bool:
    """Whether `getattr(base, attr, default)` gives the default, since nobody has stored anything
    under that name: nothing of its class, of the project, or of what has run."""
    found, info, project = frame.object(base), frame.class_of(base), frame.world.project
    if found is None or attr in found.entries or base.trait is not None:
        return False
    if info is None:
        return found.source == "types.SimpleNamespace"
    plain = _PLAIN.issuperset(info.library_bases()) and not info.is_open
    if project is None or not plain or any(map(info.defines, _DYNAMIC[:2])):
        return False
    files = {frame.file, *(each.file for each in info.lineage())}
    if info.defines(attr) or info.binds(attr) or any(each.once(_sets_any, each) for each in files):
        return False
    return not project.may_bind(info.file.path, attr)


def _sets_any(file: File) -> bool:
    """Whether a file stores into objects under names that are made up."""
    return any(isinstance(each, ir.Name) and each.id in _SETS for each in nodes_of(file.body))


_SETS = ("setattr", "vars", "exec")


def _is_reported(name: str) -> bool:
    """Whether rules tell of a name or an attribute that nothing binds: it is taken to be fixed."""
    return bool(means("about-devices", name, "variable"))


def _is_simple(info: ClassInfo) -> bool:
    """Whether all that gives attributes to the objects of a class is in sight."""
    if info.is_open or not _PLAIN.issuperset(info.library_bases()):
        return False
    if any(info.defines(name) for name in _DYNAMIC):
        return False
    if any(map(_registers_any, nodes_of(method for _, method in info.all_methods()))):
        return False
    return not any(
        each.node.decorators or any(base.keyword or base.star for base in each.node.bases)
        for each in info.lineage()
    )


def _registers_any(node: ir.Node) -> bool:
    """Whether it registers something under a name that is made up: `f"m{i}"`."""
    match node:
        case ir.Call(func=ir.Attribute(attr=attr), args=args) if attr in _REGISTER:
            return not (args and isinstance(args[0].value, ir.Constant))
    return False


_REGISTER = ("register_buffer", "register_parameter", "register_module", "add_module")
_PLAIN = frozenset(("torch.nn.Module", "abc.ABC", "builtins.object"))
_DYNAMIC = ("__getattr__", "__getattribute__", "__slots__", "__new__", "__init_subclass__")


def _knows(info: ClassInfo, attr: str) -> bool:
    """Whether Python or torch gives an attribute to the objects of a class."""
    if info.is_module:
        return attr.startswith("_") or attr in MODULE_ATTRIBUTES
    return attr.startswith("__")


def _bound(file: File) -> frozenset[str] | None:
    return bound_anywhere(file.body)


def _strings(file: File) -> frozenset[str]:
    """The strings of a file, by which an attribute may be set or asked for."""
    constants = (each.value for each in nodes_of(file.body) if isinstance(each, ir.Constant))
    return frozenset(each for each in constants if isinstance(each, str))
