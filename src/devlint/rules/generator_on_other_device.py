"""DEV207: a generator of one device draws for a tensor, a sampler or a loader of another."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import (
    CPU,
    Device,
    Draw,
    Known,
    Operand,
    Role,
    Sort,
    device_at,
    difference,
    only_host,
)
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Anchor, Change, Report, Rewrite, insert_after
from devlint.model.trees import is_named, last_name, written
from devlint.rules import rule
from devlint.rules._meetings import confidence, place
from devlint.rules._moving import suffix, without
from devlint.rules._remedies import devices_of

_DEFAULT = "torch.Generator(device=torch.get_default_device())"

_ON_HOST = "draw on the CPU and move what was drawn, or make the generator where the numbers go"


@rule("generator-on-other-device", on=Draw)
def generator_on_other_device(draw: Draw) -> Iterator[Report]:
    """Report the generator, or the call that takes the CPU's where the default device isn't."""
    if not _raises(draw):
        return
    given = draw.generator
    yield Report(
        at=draw.node if given is None else given.node,
        message=_sentence(draw),
        because=() if given is None else given.trace,
        fix=_with_own(draw) if given is None else _move_draw(draw, given),
        help=_help(draw),
        confidence=confidence(_source(draw), draw.device),
    )


def _source(draw: Draw) -> Device:
    """Where the numbers are drawn."""
    return CPU if draw.generator is None else draw.generator.device


def _raises(draw: Draw) -> bool:
    """Whether the two are of different types: `cuda:0` may draw for `cuda:1`."""
    source = _source(draw)
    found = difference(source, draw.device)
    if found is None or (draw.context.role is Role.TEST and not found.certain):
        return False
    ends = [device_at(device, found.when) for device in (source, draw.device)]
    types = {end.type for end in ends if isinstance(end, Known)}
    return len(types) > 1 or not found.certain


def _sentence(draw: Draw) -> str:
    what = draw.op.removeprefix("torch.utils.data.").replace("torch.Tensor.", ".")
    if draw.generator is None:
        return f"`{what}` draws with a generator on cpu, but numbers are made {place(draw.device)}"
    source = f"the generator `{draw.generator}` is {place(draw.generator)}"
    if not draw.tensors:
        return f"{source} but `{what}` draws {place(draw.device)}, the default device"
    if draw.target is not None and draw.placed is None:
        return f"{source} but `{draw.target}` is {place(draw.device)}"
    return f"{source} but `{what}` makes its numbers {place(draw.device)}"


def _help(draw: Draw) -> str:
    if draw.generator is None:
        return f"give it a generator of the default device: `generator={_DEFAULT}`"
    if not draw.tensors:
        return "make the generator on the default device: `torch.Generator()` where nothing sets it"
    if draw.target is not None and draw.placed is None and is_named(draw.target.node):
        return f"make the generator there: `torch.Generator(device={draw.target}.device)`"
    if isinstance(draw.generator.device, Known) and draw.generator.device.is_host:
        return _ON_HOST
    return "create the tensor on the generator's device, or the generator on the tensor's"


# --- fixes ---------------------------------------------------------------------------------


def _move_draw(draw: Draw, generator: Operand) -> Change | None:
    """Draw where the generator is: that keeps the numbers that a seed gives."""
    if not draw.tensors:
        return _on_default(generator)
    if not isinstance(draw.node.func, (ir.Attribute, ir.Name)):
        return None
    if draw.placed is None:
        return _beside(draw, generator) if draw.target is None else _of_host(draw, draw.target)
    host = isinstance(generator.device, Known) and generator.device.is_host
    if not host or draw.target is not None or draw.placed not in draw.node.args:
        return None
    position = draw.node.args.index(draw.placed)
    device = written(draw.placed.value)
    if position == 0 or not device:
        return None
    before = Anchor(draw.node.args[position - 1], "end")
    rewrites = (
        Rewrite(before, Anchor(draw.placed, "end"), ""),
        insert_after(draw.node, f".to({device})"),
    )
    return Change(f"Draw on the CPU, then move to `{device}`", rewrites, Safety.UNSAFE)


def _of_host(draw: Draw, target: Operand) -> Change | None:
    """`torch.multinomial(p, 1, generator=g)` -> `torch.multinomial(p.cpu(), ...).to(p.device)`."""
    fills = last_name(draw.node.func).endswith("_") and is_named(target.node)
    before = suffix(target.node, ".cpu()") if only_host(_source(draw)) and not fills else ()
    chosen: Change | None = None
    for words in reversed(devices_of(target) if before else []):
        rewrites = (*before, insert_after(draw.node, f".to({words.text})"))
        together = () if words.told is None else (draw.node, words.told)
        chosen = Change(
            f"Draw on the CPU, then move to `{words.text}`", rewrites, Safety.UNSAFE, together,
            after=words.after, names=words.names, otherwise=chosen, help=_ON_HOST,
        )  # fmt: skip
    return chosen


def _on_default(generator: Operand) -> Change | None:
    """`torch.Generator(device)` -> `torch.Generator()`, for what draws on the default device."""
    for step in generator.steps:
        match step.node:
            case ir.Call(args=(argument,)) as made if step.sort in (
                Sort.NAMED,
                Sort.CHOSEN,
                Sort.GENERATOR,
            ):
                rewrites = without(made, argument)
                return Change("Make it on the default device", rewrites, Safety.UNSAFE)
    return None


def _beside(draw: Draw, generator: Operand) -> Change | None:
    """`torch.rand(3, generator=g)` -> `torch.rand(3, generator=g, device=g.device)`."""
    if (
        any(arg.star for arg in draw.node.args)
        or not is_named(generator.node)
        or draw.op == "torch.normal"
    ):
        return None
    device = f"{written(generator.node)}.device"
    rewrites = (insert_after(draw.node.args[-1], f", device={device}"),)
    return Change(f"Make the numbers on `{device}`", rewrites, Safety.UNSAFE)


def _with_own(draw: Draw) -> Change | None:
    """Give a generator of the default device, in a file that calls torch by its name."""
    root: ir.Expr = draw.node.func
    while isinstance(root, ir.Attribute):
        root = root.value
    if not isinstance(root, ir.Name) or root.id != "torch" or not draw.node.args:
        return None
    rewrites = (insert_after(draw.node.args[-1], f", generator={_DEFAULT}"),)
    return Change("Give it a generator of the default device", rewrites, Safety.UNSAFE)
