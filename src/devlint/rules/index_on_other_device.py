"""DEV204: a CPU tensor is indexed by an accelerator tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from devlint.flow.facts import (
    UNKNOWN,
    Indexing,
    Known,
    Operand,
    device_at,
    difference,
    left_out,
    may_be_accelerator,
    may_be_host,
    off_host,
)
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report
from devlint.model.trees import is_named, written
from devlint.rules import rule
from devlint.rules._meetings import (
    because,
    clash,
    confidence,
    creation,
    followed_by,
    fresh,
    place,
    where,
)
from devlint.rules._moving import suffix


@rule("index-on-other-device", on=Indexing)
def index_on_other_device(indexing: Indexing) -> Iterator[Report]:
    """Report an index on an accelerator whose base is elsewhere; a CPU index is always legal."""
    base, index = indexing.base, indexing.index
    known = base.device if isinstance(base.device, Known) else None
    if not may_be_accelerator(index.device) or not (known or _made_on_one_path(base)):
        return
    if known and not known.is_host and not isinstance(index.device, Known):
        return  # the choice may fall on the same accelerator, or on the CPU, which is legal
    away = replace(index, device=off_host(index.device))
    found = difference(away.device, base.device)
    if found is not None and clash(away, base, indexing.context):
        is_plain = left_out(index.device) in (UNKNOWN, index.device)
        where_they_differ = index if is_plain else device_at(index.device, found.when)
        yield Report(
            at=index.node,
            message=f"`{index}` is {place(where_they_differ)} but indexes `{base}`, "
            f"which is {''.join(where(base, away))}",
            because=because(index, base),
            fix=_move(indexing),
            help=f"an index may be on the CPU or with the indexed tensor: "
            f"`{followed_by(index, f'.to({base}.device)' if is_named(base.node) else '.cpu()')}`",
            confidence=confidence(index.device, base.device),
            cause=creation(base) if fresh(base) else None,
        )


def _made_on_one_path(base: Operand) -> bool:
    return fresh(base) and may_be_host(base.device)


def _move(indexing: Indexing) -> Change | None:
    """Safe: it can't change a result, for no index on another device ever gave one."""
    base = indexing.base.node
    if not is_named(base):
        return None
    device = f"{written(base)}.device"
    rewrites = suffix(indexing.index.node, f".to({device})")
    if not rewrites:
        return None
    return Change(f"Move the index to `{device}`", rewrites, Safety.SAFE)
