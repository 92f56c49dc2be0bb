"""DEV117: a default that asks for CUDA before a function says which devices are visible."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import ApiCall
from devlint.model import ir
from devlint.model.reports import Hop, Report
from devlint.rules import rule


@rule("cuda-asked-too-early", on=ApiCall)
def cuda_asked_too_early(call: ApiCall) -> Iterator[Report]:
    if call.too_early is not None and not (call.needs_cuda and call.default_of):
        setting = ir.render(call.too_early.targets[0])
        yield Report(
            at=call.node,
            message=f"`{call.name}` uses CUDA on import, so setting `{setting}` afterwards has no "
            "effect",
            because=(Hop(call.too_early, "set here, too late"),),
            help=f"make the default of `{call.default_of}` None, and choose inside the function",
        )
