"""What nothing binds: to read such a name, or such an attribute of an object, raises on every
device, so that nothing behind it runs."""

from __future__ import annotations

from devlint.flow.domain.keys import Literal
from devlint.flow.domain.state import State
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Value
from devlint.flow.facts import MissingOperand
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import BUILTINS, from_star
from devlint.flow.syntax.bindings import bound_anywhere
from devlint.flow.syntax.walk import descendants, nodes_of
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
    if frame.binds(name) or frame.around:
        return name not in (file.once(_bound, file) or (name,))
    bound = file.once(_bound_at_top, file)
    return bound is not None and name not in bound


def is_missing(frame: Frame, base: Value, attr: str) -> bool:
    """Whether an object lacks an attribute, since neither its class nor anything else of the
    project gives it one of that name. Unless proved: no."""
    return not _is_reported(attr) and _lacks(frame, base, attr)


def _lacks(frame: Frame, base: Value, attr: str) -> bool:
    info = frame.class_of(base)
    project = frame.world.project
    if info is None or project is None or base.trait is not Trait.SELF:
        return False
    if not info.once(_is_simple, info) or info.defines(attr) or info.binds(attr):
        return False
    files = {each.file for each in info.lineage()}
    if _knows(info, attr) or any(_may_name(each, attr) for each in files):
        return False
    return not project.may_give(info.file.path, info.node.name, attr)


def note_asked(frame: Frame, node: ir.Attribute) -> None:
    """Note that a name or an attribute that nothing binds is moved, or asked where it is."""
    if node.attr in _PLACES:
        _note(frame, node.value, node.attr)


def note_device(frame: Frame, node: ir.Expr) -> None:
    """Note that an attribute that nothing binds stands where a device is meant, or a name that is
    bound in one branch alone."""
    if isinstance(node, ir.Attribute):
        _note(frame, node, "")
    elif isinstance(node, ir.Name) and node.id in frame.partly:
        where, (condition, _), bound = frame.partly[node.id]
        same = frame.state.env.get(node.id) is bound and frame.state.known.told(condition) is None
        if same and frame.arm is None and _is_told(frame) and _is_sure(frame, node):
            frame.record(MissingOperand(node, frame.context(), "", partly=where))


def note_partly(frame: Frame, node: ir.If, key: Literal, taken: State, skipped: State) -> None:
    """Note the names that the branch of an `if` without an `else` alone has bound. Inside of
    another `if`, or of a loop, something else may tell whether it is taken; so it may of one value
    among several, `mode == "train"`."""
    both = taken.alive and skipped.alive and frame.arm is None and frame.loop is None
    if not both or not _is_told(frame) or isinstance(node.test, ir.Compare):
        return
    if frame.function is None and not (frame.file.whole and frame.file.once(_bound, frame.file)):
        return  # `import *` may bind it, or a part of the file that isn't here
    for name in taken.env.keys() - skipped.env.keys() - frame.globals:
        if not frame.is_rebound(name):
            frame.partly[name] = node, key, frame.state.env[name]


def _is_sure(frame: Frame, node: ir.Name) -> bool:
    """Whether nothing in its statement decides whether a name is read."""
    whole = frame.function or frame.file
    return node not in frame.file.once(_decided, whole, frame.body or frame.file.body)


def _decided(whole: object, body: ir.Body) -> frozenset[ir.Node]:
    parts: list[ir.Node] = []
    for each in nodes_of(body):
        match each:
            case ir.Conditional(body=yes, orelse=no):
                parts += (yes, no)
            case ir.Boolean(right=right):
                parts.append(right)
    return frozenset(inner for part in parts for inner in descendants(part))


def _is_told(frame: Frame) -> bool:
    return frame.tells and not frame.expecting and not frame.comparing


def _note(frame: Frame, node: ir.Expr, attr: str) -> None:
    if not _is_told(frame):
        return
    match node:
        case ir.Name(id=name) if (
            frame.look_up(name) is None
            and name not in BUILTINS
            and from_star(frame, node) is None
            and is_unbound(frame, node)
        ):
            frame.record(MissingOperand(node, frame.context(), attr))
        case ir.Attribute(value=ir.Name(id=name), attr=missing):
            base = frame.look_up(name)
            owner = None if base is None else frame.class_of(base)
            if base is None or owner is None or (owner.is_module and missing in _PLACES):
                return  # of a module DEV303 tells it
            if _lacks(frame, base, missing):
                frame.record(MissingOperand(node, frame.context(), attr, owner.node.name))


_PLACES = frozenset(("device", "is_cuda", "get_device", "to", "cuda", "cpu"))


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
_PLAIN = frozenset(
    ("torch.nn.Module", "torch.utils.data.Dataset", "torch.utils.data.IterableDataset", "abc.ABC",
     "typing.Generic", "builtins.object")
)  # fmt: skip
"""Bases that give their objects no attributes but those of `MODULE_ATTRIBUTES`."""
_DYNAMIC = ("__getattr__", "__getattribute__", "__slots__", "__new__", "__init_subclass__")


def _knows(info: ClassInfo, attr: str) -> bool:
    """Whether Python or torch gives an attribute to the objects of a class."""
    if info.is_module:
        return attr.startswith("_") or attr in MODULE_ATTRIBUTES
    return attr.startswith("__")


def _bound(file: File) -> frozenset[str] | None:
    return bound_anywhere(file.body)


def _bound_at_top(file: File) -> frozenset[str] | None:
    """The names that a file binds where all of it sees them; None where it may bind others."""
    if file.once(_bound, file) is None:
        return None
    found = set(file.rebound)
    for each in file.body:
        if isinstance(each, (ir.Function, ir.Class)):
            found.add(each.name)
        else:
            found.update(bound_anywhere((each,)) or ())
    return frozenset(found)


def _may_name(file: File, attr: str) -> bool:
    """Whether a file may set an attribute by its name, or ask for it."""
    spelled = file.once(_spelled, file)
    return spelled is None or attr in spelled


def _spelled(file: File) -> frozenset[str] | None:
    """The strings that stand in calls of a file, or are looked for; None where it may bind any name
    at the run."""
    found: set[object] = set()
    for each in nodes_of(file.body):
        match each:
            case ir.Attribute(attr="__dict__" | "__setattr__") | ir.Name(id="vars" | "exec"):
                return None
            case ir.Call(func=func, args=args):
                if isinstance(func, ir.Name) and func.id == "setattr" and not _names(args[1:2]):
                    return None
                found.update(_names(args))
            case ir.Compare(left=ir.Constant(value=value)):
                found.add(value)
    return frozenset(each for each in found if isinstance(each, str))


def _names(args: tuple[ir.Argument, ...]) -> list[object]:
    """The constants among arguments."""
    return [each.value.value for each in args if isinstance(each.value, ir.Constant)]
