"""DEV114: `device or "cuda" if there else "cpu"`, which Python reads in another way."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Loss, LossyDefault
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, insert_after, insert_before
from devlint.rules import rule


@rule("device-default-lost-in-conditional", on=LossyDefault)
def device_default_lost_in_conditional(fact: LossyDefault) -> Iterator[Report]:
    if fact.how is not Loss.BINDING:
        return
    node = fact.node
    assert isinstance(node, ir.Conditional)
    assert isinstance(node.body, ir.Boolean)
    kept, test = fact.kept, ir.render(node.test)
    wraps = (insert_before(node.body.right, "("), insert_after(node.orelse, ")"))
    yield Report(
        at=node,
        message=f"`{kept}` is lost unless `{test}`: Python applies the `if` to the whole `or`",
        fix=Change("Put the choice in parentheses", wraps, Safety.UNSAFE),
        help=f"write `{kept} or ({ir.render(node.body.right)} if {test} else {fact.default})`",
    )
