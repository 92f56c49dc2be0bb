"""DEV108: a function that raises where there is no accelerator."""

from collections.abc import Iterator

from devlint.flow.facts import ApiCall, Guard, Pinning
from devlint.model import ir
from devlint.model.reports import Report
from devlint.rules import rule


@rule("unguarded-cuda-api", on=ApiCall)
def unguarded_cuda_api(call: ApiCall) -> Iterator[Report]:
    if not call.needs_cuda or call.context.guard is not Guard.NONE or _is_another_rules(call):
        return
    yield Report(
        at=call.node,
        message=f"`{call.name}` is called whether or not CUDA is available",
        help="put it under `if torch.cuda.is_available():`, or ask the device that was chosen",
    )


def _is_another_rules(call: ApiCall) -> bool:
    """`x.cuda()` is for DEV101, `torch.cuda.FloatTensor` for DEV105, `set_device(0)` for DEV104,
    and the default of a parameter for DEV116. `torch.cuda.device(1)` as a statement, which is for
    DEV306, does nothing."""
    if call.name.endswith((".cuda", "Tensor")) or call.default_of:
        return True
    if call.name == "torch.cuda.device" and call.discarded:
        return True
    first = call.positional[0].node if call.positional else None
    return call.name == "torch.cuda.set_device" and isinstance(first, ir.Constant)


@rule("unguarded-cuda-api", on=Pinning)
def pinned_anywhere(pinning: Pinning) -> Iterator[Report]:
    """Report what pins memory on every machine, but in a method by which a loader has its batches
    pinned: it calls that only where there is an accelerator."""
    by_loader = pinning.context.function.rpartition(".")[2] == "pin_memory"
    if pinning.via != "anywhere" or pinning.context.guard is not Guard.NONE or by_loader:
        return
    yield Report(
        at=pinning.node,
        message=f"`{ir.render(pinning.node)}` pins memory whether or not there is an accelerator",
        help="pin only where there is one: `if torch.accelerator.is_available():`",
    )
