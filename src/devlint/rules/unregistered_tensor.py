"""DEV401: a tensor kept as a plain attribute of a module and used in its methods."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import CachedTensor, KeptTensor
from devlint.model import ir
from devlint.model.findings import Confidence, Level, Safety
from devlint.model.reports import Anchor, Change, Hop, Report, Rewrite, insert_after
from devlint.rules import rule
from devlint.rules._meetings import creation, place


@rule("unregistered-tensor", on=KeptTensor)
def unregistered_tensor(kept: KeptTensor) -> Iterator[Report]:
    """Report the place that stores it, once something that follows the model meets it."""
    if kept.uses:
        yield Report(
            at=kept.node,
            message=f"`self.{kept.attr}` is a plain tensor: it stays behind when "
            f"`{kept.class_name}` is moved",
            because=(*kept.value.trace, *kept.uses),
            fix=_register(kept),
            help=f'make it a buffer: `self.register_buffer("{kept.attr}", ..., persistent=False)`',
            confidence=Confidence.MEDIUM,
            cause=creation(kept.value),
            settles=True,
        )


@rule("unregistered-tensor", on=CachedTensor)
def cached_tensor(kept: CachedTensor) -> Iterator[Report]:
    """Report what a method keeps for its next call, wherever the module is by then."""
    verb = "holds" if kept.reuses else "doesn't hold"
    yield Report(
        at=kept.node,
        message=f"`self.{kept.attr}` is a plain tensor that later calls reuse: it "
        f"stays behind when `{kept.class_name}` is moved",
        because=(
            Hop(kept.stored, f"made here, {place(kept.value.device)}"),
            Hop(kept.test, f"kept by later calls as long as this {verb}"),
            *kept.uses,
        ),
        fix=_register_empty(kept),
        help=f'make it a buffer: `self.register_buffer("{kept.attr}", {_first(kept)}, '
        "persistent=False)`",
        level=Level.WARNING,
        confidence=Confidence.MEDIUM,
    )


def _first(kept: CachedTensor) -> str:
    """What is registered: nothing so far, unless the test asks for an attribute of that name."""
    match kept.test:
        case ir.Unary(op="not", operand=ir.Call(func=ir.Name(id="hasattr"))):
            return "..."
    return "None"


def _register_empty(kept: CachedTensor) -> Change | None:
    """A buffer without a tensor so far: what is assigned to it later is moved with the module."""
    match kept.node:
        case ir.Assign(targets=(ir.Attribute(value=ir.Name(id=owner)),)) if kept.empty:
            text = f'{owner}.register_buffer("{kept.attr}", None, persistent=False)'
            rewrite = Rewrite(Anchor(kept.node, "start"), Anchor(kept.node, "end"), text)
            return Change(f"Register `{kept.attr}` as a buffer", (rewrite,), Safety.UNSAFE)
    return None


def _register(kept: KeptTensor) -> Change | None:
    """A buffer that stays out of the state dict, so that saved checkpoints still load.

    The fact tells of the only place that stores the name. Were there another, the name could be
    taken by a plain attribute, which `register_buffer` refuses.
    """
    if not kept.only or kept.scripted:
        return None
    match kept.node:
        case ir.Assign(targets=(ir.Attribute(value=ir.Name(id=owner)),), annotation=None):
            value = kept.node.value
            if value is None:
                return None
            start = Rewrite(
                Anchor(kept.node, "start"),
                Anchor(value, "start"),
                f'{owner}.register_buffer("{kept.attr}", ',
            )
            end = insert_after(value, ", persistent=False)")
            return Change(f"Register `{kept.attr}` as a buffer", (start, end), Safety.UNSAFE)
    return None
