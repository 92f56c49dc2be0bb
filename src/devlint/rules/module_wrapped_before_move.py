"""DEV404: a module on the wrong device is wrapped, to be spread over several."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Wrap
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report
from devlint.model.trees import written
from devlint.rules import rule
from devlint.rules._moving import suffix

_WORDS = {
    "device-ids": "`{module}` is on cpu, where `device_ids` may not be given",
    "other-index": "`{module}` is on {place} but its inputs will go to the device of `{target}`",
    "backend": "`{module}` is on cpu, and the backend `nccl` sends no CPU tensors",
    "sync": "`{module}` is on cpu, and `sync_module_states=True` sends accelerator tensors only",
    "called": "the module in `{module}` is on {place}, and isn't on `device_ids[0]`",
}
_HELP = {
    "device-ids": "move it first: `{module}.to({target})`",
    "other-index": "move it to the device of its inputs first: `{module}.to({target})`",
    "backend": "move it to the accelerator of this process first",
    "sync": "move it first, or pass `device_id=` to have it moved",
    "called": "move it to that device first: `{module}.to(...)`",
}
_SHORTEST = (ir.Name, ir.Attribute, ir.Constant, ir.Subscript)


@rule("module-wrapped-before-move", on=Wrap)
def module_wrapped_before_move(wrap: Wrap) -> Iterator[Report]:
    """Report the module that is wrapped, or the call in which that matters."""
    words = {
        "module": wrap.module, "place": wrap.module.device, "target": wrap.target or ""
    }  # fmt: skip
    yield Report(
        at=wrap.node if wrap.reason == "called" else wrap.module.node,
        message=_WORDS[wrap.reason].format(**words),
        because=wrap.module.trace,
        fix=_move(wrap),
        help=_HELP[wrap.reason].format(**words),
    )


def _move(wrap: Wrap) -> Change | None:
    """`DDP(model, device_ids=[rank])` -> `DDP(model.to(rank), device_ids=[rank])`."""
    if wrap.target is None or not isinstance(wrap.target.node, _SHORTEST):
        return None
    target = written(wrap.target.node)
    rewrites = suffix(wrap.module.node, f".to({target})")
    if not target or not rewrites:
        return None
    return Change(f"Move it to `{target}`", rewrites, Safety.SAFE)
