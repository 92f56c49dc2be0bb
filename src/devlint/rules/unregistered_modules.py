"""DEV402: modules or parameters kept in a plain list, tuple or dict of a module."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import KeptModules, names_submodule
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, insert_after, insert_before
from devlint.model.trees import last_name
from devlint.rules import rule

_CONTAINERS = (ir.Display, ir.Mapping, ir.Comprehension)


@rule("unregistered-modules", on=KeptModules)
def unregistered_modules(kept: KeptModules) -> Iterator[Report]:
    """Report the place that stores the container."""
    inside = "parameters" if kept.parameters else "modules"
    container = kept.value.type_name or "container"
    wrapper = _wrapper(kept)
    yield Report(
        at=kept.node,
        message=f"`self.{kept.attr}` is a plain {container} of {inside}: `{kept.class_name}` "
        "neither moves nor trains them",
        because=kept.value.trace,
        fix=_wrap(kept, wrapper),
        help=f"keep them in `{kept.nn or 'nn'}.{wrapper}`",
        cause=next(iter(kept.made), None),
        settles=True,
    )


def _wrapper(kept: KeptModules) -> str:
    keyed = kept.value.type_name == "dict" or _is_dict(kept.display)
    return ("Parameter" if kept.parameters else "Module") + ("Dict" if keyed else "List")


def _is_dict(display: ir.Expr | None) -> bool:
    return isinstance(display, ir.Mapping) or (
        isinstance(display, ir.Comprehension) and display.kind == "dict"
    )


def _wrap(kept: KeptModules, wrapper: str) -> Change | None:
    """Unsafe: registered modules show up in `state_dict()` and `parameters()`."""
    container = kept.display or _given(kept)
    if not kept.nn or kept.unfit or container is None:
        return None
    if kept.display and not _can_wrap(container):
        return None
    rewrites = (insert_before(container, f"{kept.nn}.{wrapper}("), insert_after(container, ")"))
    return Change(f"Wrap it in `{kept.nn}.{wrapper}`", rewrites, Safety.UNSAFE)


def _given(kept: KeptModules) -> ir.Expr | None:
    """What the constructor was given, if it is kept as it is."""
    match kept.node:
        case ir.Assign(targets=(_,), value=ir.Name() as value):
            return value
    return None


def _can_wrap(display: ir.Expr) -> bool:
    """A flat list or tuple, or a dict whose keys may be names of submodules."""
    match display:
        case ir.Display(kind="list" | "tuple", items=items):
            return not any(isinstance(item, _CONTAINERS) for item in items)
        case ir.Comprehension(kind="list", element=element):
            return not isinstance(element, _CONTAINERS)
        case ir.Comprehension(kind="dict", key=key, element=element, clauses=clauses):
            return isinstance(key, (ir.Name, ir.Text)) and not (
                isinstance(element, _CONTAINERS) or any(_counts(each.iter) for each in clauses)
            )
        case ir.Mapping(items=pairs):
            return all(
                isinstance(key, ir.Constant)
                and names_submodule(key.value)
                and not isinstance(value, _CONTAINERS)
                for key, value in pairs
            )
    return False


def _counts(source: ir.Expr) -> bool:
    """Whether a loop goes over numbers, which are no names of submodules."""
    return isinstance(source, ir.Call) and last_name(source.func) in ("range", "enumerate")
