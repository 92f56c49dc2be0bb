"""DEV101: `x.cuda()` that runs whether or not CUDA is available."""

from collections.abc import Iterator

from devlint.flow.facts import Guard, Kind, Move
from devlint.model import ir
from devlint.model.reports import Anchor, Change, Report, Rewrite, replace_tail
from devlint.rules import rule
from devlint.rules._meetings import followed_by
from devlint.rules._remedies import on_chosen

# `.cuda` of any other kind is DEV301 (a list has none) or another library's.
_MOVABLE = frozenset(
    {
        Kind.UNKNOWN,
        Kind.TENSOR,
        Kind.MODULE,
        Kind.PLACED,
        Kind.BATCH,
        Kind.ENCODING,
        Kind.INSTANCE,
    }
)


def moves_to_cuda(move: Move) -> bool:
    """Whether this is `x.cuda(...)` on something that may have such a method, and may move.

    A call inside an override, `def cuda(self): super().cuda()`, was asked for by the caller. That
    of a module without parameters does nothing, and needs no CUDA: `nn.CrossEntropyLoss().cuda()`.
    """
    movable = move.receiver.kind in _MOVABLE and not move.idle
    return move.method == "cuda" and movable and not move.override


@rule("hardcoded-cuda-call", on=Move)
def hardcoded_cuda_call(move: Move) -> Iterator[Report]:
    # An argument that is spelled out is for DEV103 ("cuda"), DEV104 (an index) or DEV306 (`True`).
    spelled_out = move.target is not None and isinstance(move.target.node, ir.Constant)
    if move.context.guard is Guard.NONE and moves_to_cuda(move) and not spelled_out:
        called = followed_by(move.receiver, ".cuda()")
        yield Report(
            at=move.node,
            message=f"`{called}` runs whether or not CUDA is available",
            fix=_to_chosen(move),
            help=(
                'choose once, `device = torch.device("cuda" if torch.cuda.is_available() else '
                f'"cpu")`, and write `{followed_by(move.receiver, ".to(device)")}`'
            ),
        )


def _to_chosen(move: Move) -> Change | None:
    """`x.cuda(non_blocking=True)` -> `x.to(device, non_blocking=True)`. An index says more."""
    given = [argument for argument, _ in move.arguments]
    if any(each.keyword != "non_blocking" for each in given):
        return None
    words = ["device", *(f"non_blocking={ir.render(each.value)}" for each in given)]
    moved = f".to({', '.join(words)})"
    receiver = move.receiver.node
    if given:
        rewrite = Rewrite(Anchor(receiver, "end"), Anchor(given[0], "start"), ".to(device, ")
    else:
        rewrite = replace_tail(receiver, move.node, moved)
    return on_chosen(rewrite, f"`device` is there: `{followed_by(move.receiver, moved)}`")
