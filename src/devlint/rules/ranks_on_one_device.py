"""DEV408: the processes of a group share one GPU, since none chooses its own."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Role, SharedDevice, Sharing
from devlint.model import ir
from devlint.model.findings import Level, Safety
from devlint.model.reports import Change, Hop, Report, add_statement
from devlint.model.trees import written
from devlint.rules import rule

_WORDS = {
    Sharing.NAMED: "`{use}` is GPU 0 in every process of a machine, since none chooses its own",
    Sharing.CURRENT: "`{name}` works on GPU 0 in every process of a machine, since none chooses "
    "its own",
    Sharing.LOADED: "`torch.load` loads to the GPU that the file was saved from in every process",
}
_OF_LAUNCHER = 'int(os.environ["LOCAL_RANK"])'


@rule("ranks-on-one-device", on=SharedDevice)
def ranks_on_one_device(shared: SharedDevice) -> Iterator[Report]:
    """Report the first place that is on GPU 0, or the start of the group where torch's own tensors
    are all that is there."""
    if shared.context.role is Role.TEST:
        return
    loaded = shared.how is Sharing.LOADED
    if shared.how is Sharing.CURRENT:
        hop = Hop(shared.use, "this works on the current GPU")
    else:
        hop = Hop(shared.group, "the process group is started here")
    yield Report(
        at=shared.node,
        message=_WORDS[shared.how].format(use=_spelled(shared.use), name=shared.name),
        because=(hop,),
        fix=None if loaded else _choice(shared),
        help='load with `map_location="cpu"`, or with the device of the process'
        if loaded
        else f"choose it where the group is started: `torch.cuda.set_device({_index(shared)})`",
        level=None if shared.how is Sharing.NAMED else Level.WARNING,
    )


def _spelled(use: ir.Expr) -> str:
    """`.cuda()` of `model.cuda()`: what is moved may be long."""
    match use:
        case ir.Call(func=ir.Attribute(attr="to" | "cuda" as attr), args=args):
            given = ", ".join(ir.render(each.value) for each in args if attr == "to")
            return f".{attr}({given})"
    return ir.render(use)


def _index(shared: SharedDevice) -> str:
    """The index of the process's own GPU, as the program or its launcher calls it."""
    index = shared.index
    if index is None or index.node is None:
        return _OF_LAUNCHER
    name = written(index.node)
    if not name:
        return _OF_LAUNCHER
    return name if index.local else f"{name} % torch.cuda.device_count()"


def _choice(shared: SharedDevice) -> Change | None:
    """`torch.cuda.set_device(local_rank)` before the group is started, or where the rank is known.
    On several machines the number of all processes may be shared out otherwise than by GPUs; and
    who calls a function that is spawned as well may give it no number."""
    index = shared.index
    if index is None or not shared.torch:
        return None
    text = f"torch.cuda.set_device({_index(shared)})"
    rewrite = add_statement(index.anchor, text, after=index.after)
    safety = Safety.SAFE if index.local and index.sure else Safety.UNSAFE
    return Change("Choose the GPU of the process", (rewrite,), safety)
