"""DEV111: `get_device()`, which is -1 for a CPU tensor, where a device is meant."""

from collections.abc import Iterator

from devlint.flow.facts import DeviceUse, Guard, Trait
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, replace_tail
from devlint.rules import rule


@rule("device-index-of-cpu", on=DeviceUse)
def device_index_of_cpu(use: DeviceUse) -> Iterator[Report]:
    if use.operand.value.trait is not Trait.INDEX_OF_TENSOR or use.context.guard is not Guard.NONE:
        return
    if use.via == "set_device":
        return  # `torch.cuda.set_device(-1)` does nothing, and so does `torch.cuda.device(-1)`
    yield Report(
        at=use.node,
        message=f"`{use.operand}` is -1 for a tensor on the CPU, and no device has that index",
        because=use.operand.trace,
        fix=_by_attribute(use),
        help="`.device` holds for every tensor",
    )


def _by_attribute(use: DeviceUse) -> Change | None:
    """`x.get_device()` -> `x.device`, where a `torch.device` is as good as an index."""
    call = use.operand.node
    if use.via not in ("to", "device", "torch.device"):
        return None
    if not (isinstance(call, ir.Call) and isinstance(call.func, ir.Attribute) and not call.args):
        return None
    rewrite = replace_tail(call.func.value, call, ".device")
    return Change(f"Use `{ir.render(call.func.value)}.device`", (rewrite,), Safety.SAFE)
