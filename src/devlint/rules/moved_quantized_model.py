"""DEV308: a quantised or dispatched model is moved."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Fixed, Fixing, Kind, Move
from devlint.model.findings import Level, Safety
from devlint.model.reports import Change, Report, replace_tail
from devlint.rules import rule


@rule("moved-quantized-model", on=Move)
def moved_quantized_model(move: Move) -> Iterator[Report]:
    fixed, target = move.receiver.value.trait, move.target
    if not isinstance(fixed, Fixed) or move.method not in ("to", "cuda", "xpu"):
        return
    shown = move.receiver
    retyped = target is not None and target.kind is Kind.DTYPE
    if fixed.by is Fixing.DISPATCH:
        if retyped or (target is None and move.method == "to"):
            return  # `.to(memory_format=...)` moves nothing
        message = f"`{shown}` is dispatched by `device_map`, and `.{move.method}()` moves it"
        remedy = "choose the device by `device_map={'': device}`"
    else:
        when = f" where `{fixed.condition}` holds" if fixed.condition else ""
        verb = "cast" if retyped else "move"
        message = f"`{shown}` is {fixed.by.value} model{when}: `.{move.method}()` can't {verb} it"
        remedy = _DTYPE if retyped else "let `from_pretrained` place it: `device_map={'': device}`"
    yield Report(
        at=move.node,
        message=message,
        because=move.receiver.trace,
        fix=None if fixed.condition or move.discarded or retyped else _leave_out(move),
        help=remedy,
        level=None if fixed.by is Fixing.EIGHT_BIT or retyped else Level.WARNING,
    )


_DTYPE = "choose the dtype where it is loaded: `from_pretrained(..., torch_dtype=dtype)`"


def _leave_out(move: Move) -> Change:
    tail = replace_tail(move.receiver.node, move.node, "")
    return Change("Remove the move", (tail,), Safety.UNSAFE)
