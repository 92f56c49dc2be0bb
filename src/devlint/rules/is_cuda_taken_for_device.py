"""DEV118: what is brought to the current CUDA device because a tensor is on CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import SentToCuda
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, Rewrite, replace, replace_tail
from devlint.rules import rule


@rule("is-cuda-taken-for-device", on=SentToCuda)
def is_cuda_taken_for_device(fact: SentToCuda) -> Iterator[Report]:
    """Report what isn't sure to get to where the tested tensor is."""
    yield Report(
        at=fact.node,
        message=f"`{fact.tested}.is_cuda` doesn't tell which GPU it is on, and is false on other "
        "accelerators",
        fix=_beside(fact),
        help=f"use the device itself, `{fact.tested}.device`",
    )


def _beside(fact: SentToCuda) -> Change | None:
    """Go where the tested tensor is; not where the name of CUDA is kept, which may be for more."""
    device = f"{fact.tested}.device"
    match fact.node:
        case ir.Call(func=ir.Attribute(value=moved, attr="cuda" | "to")):
            return _to(device, replace_tail(moved, fact.node, f".to({device})"))
        case ir.Conditional():
            return _to(device, replace(fact.node, device))
    return None


def _to(device: str, rewrite: Rewrite) -> Change:
    return Change(f"Use `{device}`", (rewrite,), Safety.UNSAFE)
