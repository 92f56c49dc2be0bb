"""DEV202: one operation takes tensors of two devices."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Join
from devlint.model.reports import Report
from devlint.rules import rule
from devlint.rules._meetings import because, confidence, made_on_default, pairs, root, sentence
from devlint.rules._moving import keep_target, move_from_the_start
from devlint.rules._remedies import devices_of, remedy


@rule("operands-on-other-devices", on=Join)
def operands_on_other_devices(join: Join) -> Iterator[Report]:
    """Report each operand that is elsewhere than the one on an accelerator."""
    for odd, partner in pairs(join.placed, join.context):
        if made_on_default(odd, partner, join.context):
            continue  # DEV203 says it
        if join.inplace and odd is join.placed[0]:
            fix = keep_target(odd, partner, devices_of(partner))
        else:
            fix = move_from_the_start(odd, partner)
        yield Report(
            at=odd.node,
            message=sentence(odd, partner),
            because=because(odd, partner),
            fix=fix,
            help=remedy(odd, partner),
            confidence=confidence(odd.device, partner.device),
            root=root(odd),
        )
