"""DEV106: a file of tensors is loaded to wherever they were when it was saved."""

import re
from collections.abc import Iterator

from devlint.flow.facts import ApiCall, Context, Guard, LeftOut, Role
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, insert_after
from devlint.rules import rule

_LOADERS = {
    "torch.load": 1,
    "torch.jit.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
}
"""The position of `map_location`, counted from 0."""

_PUBLISHED = re.compile(r"https://(download\.pytorch\.org|s3\.amazonaws\.com/pytorch)/")
"""Where PyTorch publishes weights, all of them saved on the CPU."""


@rule("load-without-map-location", on=ApiCall)
def load_without_map_location(call: ApiCall) -> Iterator[Report]:
    position = _LOADERS.get(call.name)
    if position is None or call.unpacked or len(call.positional) > position:
        return
    if call.keyword("map_location") or call.keyword("mmap"):
        return
    if call.context.guard is not Guard.NONE or _is_of_tests_or_samples(call.context):
        return
    source = call.positional[0] if call.positional else call.keyword("url")
    if source is not None and _PUBLISHED.match(str(source.constant)):
        return
    yield Report(
        at=call.node,
        message=f"`{call.name}` without `map_location` needs the device that the file was saved on",
        fix=_given(call.node, "map_location"),
        help=_REMEDY.format("map_location"),
    )


@rule("load-without-map-location", on=LeftOut)
def call_without_map_location(fact: LeftOut) -> Iterator[Report]:
    """A function of the project that has `map_location=None` and hands it on."""
    if fact.context.guard is not Guard.NONE or _is_of_tests_or_samples(fact.context):
        return
    name = fact.parameter
    yield Report(
        at=fact.node,
        message=f"`{fact.callee}` without `{name}` needs the device that the file was saved on",
        because=fact.way,
        fix=_given(fact.node, name),
        help=_REMEDY.format(name),
    )


_REMEDY = 'load with `{}="cpu"` (or `device`), then move the model'


def _given(call: ir.Call, name: str) -> Change | None:
    """Load to the CPU. What was saved on an accelerator now lands there: right before
    `load_state_dict`, and a change for code that uses the tensors as they come."""
    if not call.args:
        return None
    rewrite = insert_after(call.args[-1], f', {name}="cpu"')
    return Change(f'Add `{name}="cpu"`', (rewrite,), Safety.UNSAFE)


def _is_of_tests_or_samples(context: Context) -> bool:
    """Whether it stands in a test, or in a method of a data set or a sampler: what these read was
    prepared on the host. Scripts and functions that look at data read models as well."""
    in_class = "." in context.function
    return context.role is Role.TEST or (context.role is Role.DATA and in_class)
