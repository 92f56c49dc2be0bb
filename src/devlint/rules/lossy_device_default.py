"""DEV112: a default for a device or an index that loses what somebody gave."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import ApiCall, Loss, LossyDefault
from devlint.model import ir
from devlint.model.findings import (
    Anchor,
    Change,
    Hop,
    Level,
    Report,
    Rewrite,
    Safety,
    insert_after,
    insert_before,
)
from devlint.rules import rule


@rule("lossy-device-default", on=LossyDefault)
def lossy_device_default(fact: LossyDefault) -> Iterator[Report]:
    yield {
        Loss.INDEX: _index,
        Loss.BINDING: _binding,
        Loss.ALWAYS: _always,
        Loss.TRUTH: _truth,
    }[fact.how](fact)


def _index(fact: LossyDefault) -> Report:
    kept, default = fact.kept, fact.default
    middle = Rewrite(
        Anchor(kept.node, "end"),
        Anchor(default.node, "start"),
        f" if {ir.render(kept.node, 200)} is not None else ",
    )
    around = (insert_before(fact.node, "("), insert_after(fact.node, ")"))
    return Report(
        at=fact.node,
        message=f"where `{kept}` is 0, the first device, this is `{default}`: 0 is false",
        fix=Change("Ask for None", (around[0], middle, around[1]), Safety.UNSAFE),
        help=f"ask for None: `{kept} if {kept} is not None else {default}`",
    )


def _binding(fact: LossyDefault) -> Report:
    node = fact.node
    assert isinstance(node, ir.Conditional)
    assert isinstance(node.body, ir.Boolean)
    kept, test = fact.kept, ir.render(node.test)
    wraps = (insert_before(node.body.right, "("), insert_after(node.orelse, ")"))
    return Report(
        at=node,
        message=f"`{kept}` is lost unless `{test}`: the `if` takes the whole `or` for its value",
        fix=Change("Put the choice in parentheses", wraps, Safety.UNSAFE),
        help=f"write `{kept} or ({ir.render(node.body.right)} if {test} else {fact.default})`",
    )


def _always(fact: LossyDefault) -> Report:
    if isinstance(fact.kept.node, ir.Compare):
        compare = fact.kept.node
        subject, options = ir.render(compare.left), (compare.right, fact.default.node)
        spelled = ", ".join(map(ir.render, options))
        return Report(
            at=fact.node,
            message=f"`or {fact.default}` is always true: a string that isn't empty is",
            help=f"write `{subject} in ({spelled})`",
        )
    return Report(
        at=fact.node,
        message=f"`{fact.default} or {fact.kept}` is always {fact.default}: it is true",
        help=f"drop `or {fact.kept}`, or choose by a condition",
    )


def _truth(fact: LossyDefault) -> Report:
    return Report(
        at=fact.node,
        message=f'`{fact.kept}` names a device: it is true for "cpu" as well',
        help=f"compare it, or use `{fact.kept}` itself as the device",
    )


@rule("lossy-device-default", on=ApiCall)
def default_that_needs_cuda(call: ApiCall) -> Iterator[Report]:
    if call.needs_cuda and call.default_of:
        yield Report(
            at=call.node,
            message=f"`{call.name}` runs where the function is defined, once: it starts CUDA on "
            "import, and raises where there is none",
            help=f"make the default of `{call.default_of}` None, and ask inside",
        )
    elif call.too_early is not None:
        setting = ir.render(call.too_early.targets[0])
        yield Report(
            at=call.node,
            message=f"`{call.name}` asks CUDA on import: what `{setting}` is set to afterwards has "
            "no effect",
            because=(Hop(call.too_early, "set here, too late"),),
            help=f"make the default of `{call.default_of}` None, and ask inside",
            level=Level.WARNING,
        )
