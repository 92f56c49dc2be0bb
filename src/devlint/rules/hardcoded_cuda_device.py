"""DEV103: "cuda" as a device, with no choice."""

from collections.abc import Iterator

from devlint.flow.facts import CUDA, BuiltQuestion, DeviceUse, Guard
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, replace
from devlint.rules import rule
from devlint.rules._remedies import on_chosen

_REPLACED = frozenset({"to", "device", "map_location"})
"""Where a string stands for a device and nothing else."""


@rule("hardcoded-cuda-device", on=DeviceUse)
def hardcoded_cuda_device(use: DeviceUse) -> Iterator[Report]:
    # Only where the string is written, not again where a variable brings it; DEV107 has autocast.
    if use.parsed != CUDA or use.via == "autocast" or not isinstance(use.node, ir.Constant):
        return
    if use.choice or use.context.guard is not Guard.NONE:
        return
    if use.via == "default":
        message = 'the default is "cuda" whether or not CUDA is available'
        remedy = "make the default None and choose inside, or let the caller say"
    else:
        message = 'the device is "cuda" whether or not CUDA is available'
        remedy = (
            'choose once, `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")`, '
            "and use `device`"
        )
    fix = None
    if use.via in _REPLACED:
        fix = on_chosen(replace(use.node, "device"), "`device` is there: use it")
    yield Report(at=use.node, message=message, fix=fix, help=remedy)


@rule("hardcoded-cuda-device", on=BuiltQuestion)
def built_for_cuda(question: BuiltQuestion) -> Iterator[Report]:
    if question.context.guard is not Guard.NONE:
        return
    ask = "torch.cuda.is_available"
    fix = None
    if question.whole:
        changes = (replace(question.node.func, ask),)
        fix = Change("Ask whether CUDA is available", changes, Safety.UNSAFE)
    yield Report(
        at=question.node,
        message=f"`{ir.render(question.node)}` is true of each build of PyTorch for CUDA, "
        "whether or not CUDA is available",
        fix=fix,
        help=f"ask `{ask}()`",
    )
