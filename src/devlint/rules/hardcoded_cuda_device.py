"""DEV103: "cuda" as a device, with no choice."""

from collections.abc import Iterator

from devlint.flow.facts import CUDA, DeviceUse, Guard
from devlint.model import ir
from devlint.model.reports import Report
from devlint.rules import rule


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
    yield Report(at=use.node, message=message, help=remedy)
