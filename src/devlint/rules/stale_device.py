"""DEV405: a device that a module stores when it is made, and uses after it may have moved."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import KeptDevice, Trait
from devlint.model import ir
from devlint.model.findings import Confidence, Safety
from devlint.model.reports import Change, Report, replace
from devlint.model.trees import root_name, written
from devlint.rules import rule


@rule("stale-device", on=KeptDevice)
def stale_device(kept: KeptDevice) -> Iterator[Report]:
    """Report the statement that stores it, once something made there meets the module."""
    yield Report(
        at=kept.node,
        message=_sentence(kept),
        because=(*kept.value.trace, *kept.meetings),
        fix=_read_again(kept),
        help="read the device where it is needed: `next(self.parameters()).device`, or that of "
        "an input",
        confidence=Confidence.MEDIUM,
    )


def _is_read(kept: KeptDevice) -> bool:
    return kept.value.value.trait is Trait.DEVICE_OF_TENSOR


def _sentence(kept: KeptDevice) -> str:
    stays = f"doesn't change when `{kept.class_name}` is moved"
    if _is_read(kept):
        return f"`self.{kept.attr}` is the device on which the parameters are made, and {stays}"
    what = f"None where `{kept.parameter}` is left out" if kept.parameter else "the CPU by default"
    return f"`self.{kept.attr}` is {what}, and {stays}"


def _read_again(kept: KeptDevice) -> Change | None:
    """Where it was read from a parameter of the module, it can be read anew each time."""
    if not _is_read(kept) or not kept.uses:
        return None
    if not all(isinstance(use, ir.Attribute) and use.attr == kept.attr for use in kept.uses):
        return None
    if root_name(_first_given(kept.value.node)) != "self":
        return None
    text = written(kept.value.node)
    rewrites = tuple(replace(use, text) for use in kept.uses)
    return Change(f"Use `{text}` there", rewrites, Safety.UNSAFE)


def _first_given(node: ir.Expr) -> ir.Expr:
    """`self.parameters()` of `next(self.parameters()).device`; else the expression itself."""
    match node:
        case ir.Attribute(value=ir.Call(func=ir.Name(id="next"), args=(argument, *_))):
            return argument.value
    return node
