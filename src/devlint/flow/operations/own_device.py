"""Whether a module has a `device` of its own, and what that says."""

from __future__ import annotations

from devlint.flow.devices.replaced import gives
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Kind, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame


def is_stateless(frame: Frame, base: Value) -> bool:
    """Whether it is a module that holds nothing."""
    found = frame.object(base) if base.kind is Kind.MODULE else None
    return found is not None and found.stateless


def is_unseen(frame: Frame, base: Value) -> bool:
    """Whether it is a module of a class that nobody has seen: its `device` may be a string."""
    found = frame.object(base) if base.kind is Kind.MODULE else None
    return base.kind is Kind.MODULE and (found is None or found.source is None)


def tells_own_place(frame: Frame, base: Value) -> bool:
    """Whether `module.device` is where its parameters are: so it is with every library's module
    that has it, and with a property of that name; what a class stores under it is a value."""
    found = frame.object(base)
    if found is None or not isinstance(found.source, ClassInfo):
        return found is None or "device" not in found.entries
    known = any(name.endswith(_WITH_DEVICE) for name in found.source.library_bases())
    stored = any("device" in each.attributes for each in found.source.lineage())
    return found.source.method("device") is not None or (known and not stored)


_WITH_DEVICE = ("LightningModule", "PreTrainedModel", "ModelMixin")


def may_define(frame: Frame, base: Value, attr: str) -> bool:
    """Whether a module may have an attribute that plain modules lack. Unless proved: yes."""
    found = frame.object(base)
    if found is None or base.trait is Trait.SUPER:
        return True
    if attr in found.entries:
        return True
    if isinstance(found.source, str):
        return not _is_plain(frame, found.source)
    if isinstance(found.source, ClassInfo):
        info = found.source
        plain = all(_is_plain(frame, base) for base in info.library_bases())
        dynamic = info.defines("__getattr__") or info.defines("__getattribute__")
        inherited = base.trait is Trait.SELF and any(
            info in each.lineage() and each.defines(attr) for each in frame.file.classes.values()
        )
        if info.is_open or dynamic or not plain or inherited or info.defines(attr):
            return True
        return gives(frame.file, attr) or (base.trait is Trait.SELF and _is_unfinished(frame, info))
    return True


def _is_unfinished(frame: Frame, info: ClassInfo) -> bool:
    """Whether methods call others of the object that nothing defines: the classes of other files
    that build on this one bring them, and bring attributes as well."""
    called = {
        name for each, method in info.all_methods() for name in each.file.scan(method).self_calls
    }
    return any(
        name != "forward"
        and not info.defines(name)
        and frame.world.table.get(f"torch.nn.Module.{name}") is None
        for name in called
    )


def _is_plain(frame: Frame, name: str) -> bool:
    """Whether a module of a library has none of the attributes about devices."""
    row = frame.world.table.get(name)
    plain = name.startswith(("torch.nn.", "torchvision.models."))
    return plain and row is not None and not row.has_device
