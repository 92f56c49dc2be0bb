"""DEV113: `gpu or -1`, where 0 is the first device."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Loss, LossyDefault
from devlint.model.findings import Safety
from devlint.model.reports import Anchor, Change, Report, Rewrite, insert_after, insert_before
from devlint.model.trees import written
from devlint.rules import rule


@rule("device-index-taken-for-false", on=LossyDefault)
def device_index_taken_for_false(fact: LossyDefault) -> Iterator[Report]:
    if fact.how is not Loss.INDEX:
        return
    kept, default = fact.kept, fact.default
    text = written(kept.node)
    middle = Rewrite(
        Anchor(kept.node, "end"),
        Anchor(default.node, "start"),
        f" if {text} is not None else ",
    )
    around = (insert_before(fact.node, "("), insert_after(fact.node, ")"))
    yield Report(
        at=fact.node,
        message=f"if `{kept}` is 0, the first device, this gives `{default}`: 0 is false",
        fix=Change("Check for None", (around[0], middle, around[1]), Safety.UNSAFE)
        if text
        else None,
        help=f"check for None: `{kept} if {kept} is not None else {default}`",
    )
