"""DEV202: one operation takes tensors of two devices."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Join
from devlint.model.findings import Report
from devlint.rules import rule
from devlint.rules._meetings import because, confidence, made_on_default, pairs, root, sentence
from devlint.rules._moving import move_from_the_start
from devlint.rules._remedies import remedy


@rule("operands-on-other-devices", on=Join)
def operands_on_other_devices(join: Join) -> Iterator[Report]:
    """Report each operand that is elsewhere than the one on an accelerator."""
    for odd, partner in pairs(join.placed, join.context):
        if made_on_default(odd, partner, join.context):
            continue  # DEV203 says it
        target = join.inplace and odd is join.placed[0]
        yield Report(
            at=odd.node,
            message=sentence(odd, partner),
            because=because(odd, partner),
            fix=None if target else move_from_the_start(odd, partner),
            help=remedy(odd, partner),
            confidence=confidence(odd.device, partner.device),
            root=root(odd),
        )
