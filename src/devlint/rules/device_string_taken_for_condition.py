"""DEV115: the truth of a string that names a device, which is always true."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Loss, LossyDefault
from devlint.model import ir
from devlint.model.reports import Report
from devlint.rules import rule


@rule("device-string-taken-for-condition", on=LossyDefault)
def device_string_taken_for_condition(fact: LossyDefault) -> Iterator[Report]:
    if fact.how is Loss.TRUTH:
        yield Report(
            at=fact.node,
            message=f'`{fact.kept}` names a device: it is true for "cpu" as well',
            help=f"compare it, or use `{fact.kept}` itself as the device",
        )
    elif fact.how is Loss.ALWAYS and isinstance(fact.kept.node, ir.Compare):
        compare = fact.kept.node
        subject, options = ir.render(compare.left), (compare.right, fact.default.node)
        yield Report(
            at=fact.node,
            message=f"`or {fact.default}` is always true: a non-empty string is true",
            help=f"write `{subject} in ({', '.join(map(ir.render, options))})`",
        )
    elif fact.how is Loss.ALWAYS:
        yield Report(
            at=fact.node,
            message=f"`{fact.default} or {fact.kept}` is always {fact.default}: a non-empty "
            "string is true",
            help=f"drop `or {fact.kept}`, or choose by a condition",
        )
