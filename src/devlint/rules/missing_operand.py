"""DEV310: what nothing binds is moved, asked where it is, or meant for a device."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import MissingOperand
from devlint.model import ir
from devlint.model.reports import Hop, Report
from devlint.rules import rule


@rule("missing-operand", on=MissingOperand)
def missing_operand(missing: MissingOperand) -> Iterator[Report]:
    written = ir.render(missing.node)
    if missing.partly is not None:
        yield _of_branch(missing.partly, written, missing.node)
        return
    if isinstance(missing.node, ir.Attribute):
        what = f"`{missing.node.attr}` of `{missing.owner}`, which nothing sets"
        help = "name an attribute that the class sets"
    else:
        what = f"`{written}`, which nothing binds"
        help = "name what is there"
    if not missing.attr:
        message = f"the device is {what}"
    elif missing.attr in ("to", "cuda", "cpu"):
        message = f"`.{missing.attr}()` moves {what}"
    else:
        message = f"`.{missing.attr}` is asked of {what}"
    yield Report(at=missing.node, message=message, help=help)


def _of_branch(branch: ir.If, written: str, node: ir.Expr) -> Report:
    test = ir.render(branch.test)
    return Report(
        at=node,
        message=f"`{written}` is bound only if `{test}`",
        because=(Hop(branch.test, "and this `if` has no `else`"),),
        help='bind it otherwise, too: to `torch.device("cpu")`, for instance',
    )
