"""DEV116: a parameter's default that needs CUDA where the function is defined."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import ApiCall
from devlint.model.reports import Report
from devlint.rules import rule


@rule("cuda-call-in-default", on=ApiCall)
def cuda_call_in_default(call: ApiCall) -> Iterator[Report]:
    if call.needs_cuda and call.default_of:
        yield Report(
            at=call.node,
            message=f"`{call.name}` runs once, when the function is defined: importing the file "
            "initialises CUDA, or raises without it",
            help=f"make the default of `{call.default_of}` None, and choose inside the function",
        )
