"""DEV102: `x.cuda()` where CUDA is known, or was chosen, to be there."""

from collections.abc import Iterator

from devlint.flow.facts import Guard, Move
from devlint.model.reports import Report
from devlint.rules import rule
from devlint.rules._meetings import followed_by
from devlint.rules.hardcoded_cuda_call import moves_to_cuda


@rule("guarded-cuda-call", on=Move)
def guarded_cuda_call(move: Move) -> Iterator[Report]:
    if move.context.guard is not Guard.NONE and moves_to_cuda(move):
        yield Report(
            at=move.node,
            message=f"`{move.receiver}.cuda()` leaves accelerators other than CUDA unused",
            help="choose a `device` once and write "
            f"`{followed_by(move.receiver, '.to(device)')}` without a guard",
        )
