"""Classes whose constructor Python writes: dataclasses and named tuples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devlint import ir
from devlint.flow.arguments import Arguments
from devlint.flow.frame import ClassInfo, Frame
from devlint.flow.values import Kind, Value


def fill(frame: Frame, made: Value, info: ClassInfo, args: Arguments) -> None:
    """Store what a constructor that stands nowhere is given under the names of its fields."""
    found = frame.object(made)
    if found is None or made.kind is not Kind.INSTANCE or args.unpacked or not _is_written(info):
        return
    names = list(_fields(info))
    given = dict(zip(names, (value for _, value in args.positional()), strict=False))
    given.update((name, value) for name, (_, value) in args.keywords().items() if name in names)
    frame.update(made, replace(found, entries={**found.entries, **given}))


def _is_written(info: ClassInfo) -> bool:
    """Whether the fields of a class and of its bases are in sight, and they alone decide."""
    known = all(name.startswith(("typing.", "abc.")) for name in info.library_bases())
    return known and all(
        _is_dataclass(each) or "typing.NamedTuple" in each.bases for each in info.lineage()
    )


def _is_dataclass(info: ClassInfo) -> bool:
    for decorator in info.node.decorators:
        match decorator:
            case ir.Call(func=func, args=args):
                written = not any(argument.keyword == "init" for argument in args)
            case func:
                written = True
        if ir.render(func).rpartition(".")[2] == "dataclass":
            return written
    return False


def _fields(info: ClassInfo) -> Iterator[str]:
    """The names that the constructor takes, in order."""
    seen: set[str] = set()
    for each in reversed(list(info.lineage())):
        for statement in each.node.body:
            match statement:
                case ir.Assign(targets=(ir.Name(id=name),), annotation=annotation, value=value):
                    if annotation is not None and _is_taken(annotation, value) and name not in seen:
                        seen.add(name)
                        yield name


def _is_taken(annotation: ir.Expr, value: ir.Expr | None) -> bool:
    if ir.render(annotation).rpartition(".")[2].startswith(("ClassVar", "KW_ONLY")):
        return False
    match value:
        case ir.Call(args=args):
            return not any(argument.keyword == "init" for argument in args)
    return True
