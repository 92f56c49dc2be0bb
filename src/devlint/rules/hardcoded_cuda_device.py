"""DEV103: "cuda", "mps" or "xpu" as a device, with no choice."""

from collections.abc import Iterator

from devlint.flow.facts import BuiltQuestion, DeviceUse, Guard, Known
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, replace
from devlint.rules import rule
from devlint.rules._remedies import on_chosen

_REPLACED = frozenset({"to", "device", "map_location"})
"""Where a string stands for a device and nothing else."""
_ASKED = {"cuda": "torch.cuda", "mps": "torch.backends.mps", "xpu": "torch.xpu"}
"""The accelerators that come with PyTorch, and what is asked whether there is one."""


@rule("hardcoded-cuda-device", on=DeviceUse)
def hardcoded_cuda_device(use: DeviceUse) -> Iterator[Report]:
    # Only where the string is written, not again where a variable brings it; DEV107 has autocast.
    device = use.parsed
    if not isinstance(device, Known) or device.index is not None or device.type not in _ASKED:
        return
    if use.via == "autocast" or not isinstance(use.node, ir.Constant):
        return
    if use.choice or use.context.guard is not Guard.NONE:
        return
    if use.via == "default":
        message = f'the default is "{device}" whether or not {device.type.upper()} is available'
        remedy = "make the default None and choose inside, or let the caller say"
    else:
        message = f'the device is "{device}" whether or not {device.type.upper()} is available'
        asked = f"{_ASKED[device.type]}.is_available()"
        remedy = (
            f'choose once, `device = torch.device("{device}" if {asked} else "cpu")`, '
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
