"""DEV402: modules or parameters kept in a plain list, tuple or dict of a module."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import KeptModules
from devlint.model import ir
from devlint.model.findings import Change, Report, Safety, insert_after, insert_before
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
    display = kept.display
    if not kept.nn or kept.numbered or display is None or not _can_wrap(display):
        return None
    rewrites = (insert_before(display, f"{kept.nn}.{wrapper}("), insert_after(display, ")"))
    return Change(f"Wrap it in `{kept.nn}.{wrapper}`", rewrites, Safety.UNSAFE)


def _can_wrap(display: ir.Expr) -> bool:
    """A flat list, or a dict whose keys may be names of submodules."""
    match display:
        case ir.Display(kind="list", items=items):
            return not any(isinstance(item, _CONTAINERS) for item in items)
        case ir.Comprehension(kind="list", element=element):
            return not isinstance(element, _CONTAINERS)
        case ir.Mapping(items=pairs):
            return all(
                isinstance(key, ir.Constant)
                and isinstance(key.value, str)
                and key.value != ""
                and "." not in key.value
                and not isinstance(value, _CONTAINERS)
                for key, value in pairs
            )
    return False
