"""Classes that declare their fields, and whose constructor is written by Python or by a library."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.frames.files import ClassInfo
from devlint.model import ir
from devlint.model.trees import called, last_name

NAMESPACES = ("types.SimpleNamespace", "argparse.Namespace")
"""Plain objects that have what they are given under its names."""


def is_field(info: ClassInfo, attr: str) -> bool:
    """Whether whoever makes an object of a class decides what it has under a name: what the class
    gives it is a default."""
    if info.method("__init__") is not None or not any(attr == name for name, _ in declared(info)):
        return False
    return any(True for _ in info.library_bases()) or any(map(_is_dataclass, info.lineage()))


def is_written(info: ClassInfo) -> bool:
    """Whether the fields of a class and of its bases are in sight, and they alone decide."""
    known = all(name.startswith(("typing.", "abc.")) for name in info.library_bases())
    return known and all(
        _is_dataclass(each) or "typing.NamedTuple" in each.bases for each in info.lineage()
    )


def _is_dataclass(info: ClassInfo) -> bool:
    for decorator in info.node.decorators:
        if last_name(called(decorator)) == "dataclass":
            return not _asks_for_init(decorator)
    return False


def _asks_for_init(node: ir.Expr | None) -> bool:
    """`dataclass(init=False)`, `field(init=False)`."""
    return isinstance(node, ir.Call) and any(each.keyword == "init" for each in node.args)


def declared(info: ClassInfo) -> Iterator[tuple[str, ir.Expr]]:
    """The names that the constructor takes, in order, and what they are annotated with."""
    seen: set[str] = set()
    for each in reversed(info.lineage()):
        for statement in each.node.body:
            match statement:
                case ir.Assign(targets=(ir.Name(id=name),), annotation=annotation, value=value):
                    if annotation is not None and _is_taken(annotation, value) and name not in seen:
                        seen.add(name)
                        yield name, annotation


def _is_taken(annotation: ir.Expr, value: ir.Expr | None) -> bool:
    of = annotation.value if isinstance(annotation, ir.Subscript) else annotation
    return last_name(of) not in ("ClassVar", "KW_ONLY") and not _asks_for_init(value)
