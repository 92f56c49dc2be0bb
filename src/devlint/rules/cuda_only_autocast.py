"""DEV107: mixed precision for CUDA alone where the device is a choice, or of no bare type."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Guard, Known, MixedPrecision, Operand, Role
from devlint.model import ir
from devlint.model.findings import Level, Safety
from devlint.model.reports import (
    Change,
    Hop,
    Report,
    Rewrite,
    insert_after,
    insert_before,
    replace,
    replace_tail,
)
from devlint.model.trees import written
from devlint.rules import rule


@rule("cuda-only-autocast", on=MixedPrecision)
def autocast_of_a_whole_device(fact: MixedPrecision) -> Iterator[Report]:
    """`torch.autocast("cuda:0")`, `torch.autocast(str(device))`."""
    given = fact.device_type
    if given is None or not fact.name.endswith("autocast"):
        return
    if fact.whole is not None:
        yield Report(
            at=given.node,
            message=f"`{given}` may have an index, but `device_type` takes none",
            because=fact.whole.trace,
            fix=_type_of(given, fact.whole),
            help=f"pass `{fact.whole}.type`",
        )
    elif fact.indexed is not None:
        kind = f"torch.device({given}).type"
        around = (insert_before(given.node, "torch.device("), insert_after(given.node, ").type"))
        fix = Change("Pass the type", around, Safety.SAFE)
        yield Report(
            at=given.node,
            message=f"`{given}` may have an index, but `device_type` takes none",
            because=(Hop(fact.indexed, "with an index here"),),
            fix=fix if fact.torch else None,
            help=f"pass `{kind}`",
        )
    elif isinstance(given.constant, str) and _has_index(given):
        bare = given.constant.partition(":")[0]
        literal = given.trace[-1].node if given.trace else given.node
        yield Report(
            at=given.node,
            message=f'`device_type` takes no index: "{bare}", not "{given.constant}"',
            because=given.trace if literal is not given.node else (),
            fix=Change("Pass the type", (replace(given.node, f'"{bare}"'),), Safety.SAFE),
            help=f'pass `"{bare}"`, or `device.type`',
        )


def _type_of(given: Operand, whole: Operand) -> Change | None:
    """`str(device)` -> `device.type`."""
    text = written(whole.node)
    rewrites = (replace(given.node, f"{text}.type"),)
    return Change("Pass the type", rewrites, Safety.SAFE) if text else None


def _has_index(given: Operand) -> bool:
    return isinstance(given.device, Known) and given.device.index is not None


@rule("cuda-only-autocast", on=MixedPrecision)
def autocast_for_cuda_alone(fact: MixedPrecision) -> Iterator[Report]:
    """`torch.cuda.amp.autocast()` where things are moved to `device`."""
    if not fact.chosen or fact.context.guard is not Guard.NONE or _is_switched(fact):
        return
    if fact.context.role in (Role.MANAGED, Role.TEST):
        return
    given = fact.device_type
    if given is not None:
        if given.constant != "cuda" or not isinstance(given.node, ir.Constant):
            return
    elif not fact.name.startswith("torch.cuda."):
        return
    kind = f"{fact.chosen}.type" if fact.is_device else f"torch.device({fact.chosen}).type"
    short = fact.name if given is None else f"{fact.name}({given})"
    yield Report(
        at=fact.node,
        message=f"`{short}` is for CUDA only, but `{fact.chosen}` may be another device",
        because=fact.because,
        fix=_fix(fact, kind),
        help=f"pass the type of the device: `{_general(fact)}({kind})`",
    )


@rule("cuda-only-autocast", on=MixedPrecision)
def autocast_of_no_device(fact: MixedPrecision) -> Iterator[Report]:
    """`torch.autocast(dtype=dtype)`: `torch.cuda.amp.autocast` alone knows its device itself."""
    if fact.device_type is not None or fact.name != "torch.autocast":
        return
    args, called = fact.node.args, ir.render(fact.node.func)
    if any(argument.star for argument in args):
        return
    kind = f"{fact.chosen or 'device'}.type"
    if args:
        rewrite = insert_before(args[0], f"{kind}, ")
    else:
        rewrite = replace_tail(fact.node.func, fact.node, f"({kind})")
    known = fact.chosen and fact.is_device
    yield Report(
        at=fact.node,
        message=f"`{called}` can't be called without a `device_type`",
        because=fact.because,
        fix=Change("Pass the type of the device", (rewrite,), Safety.SAFE) if known else None,
        help=f"pass the type of the device: `{kind}`",
        level=Level.ERROR,
    )


def _general(fact: MixedPrecision) -> str:
    return "torch.autocast" if fact.name.endswith("autocast") else "torch.amp.GradScaler"


def _is_switched(fact: MixedPrecision) -> bool:
    """Whether a flag turns it on: that may well ask for CUDA."""
    for position, argument in enumerate(fact.node.args):
        first = argument.keyword is None and position == 0 and fact.device_type is None
        if argument.star or ((first or argument.keyword == "enabled") and not _is_true(argument)):
            return True
    return False


def _is_true(argument: ir.Argument) -> bool:
    return isinstance(argument.value, ir.Constant) and argument.value.value is True


def _fix(fact: MixedPrecision, kind: str) -> Change | None:
    message, call = "Follow the device", fact.node
    rewrites: tuple[Rewrite, ...]
    if not fact.torch and not fact.is_device:
        return None
    if fact.device_type is not None:
        rewrites = (replace(fact.device_type.node, kind),)
    elif not fact.torch or any(argument.keyword is None for argument in call.args):
        return None
    elif not call.args:
        rewrites = (replace(call, f"{_general(fact)}({kind})"),)
    else:
        rewrites = (
            replace(call.func, _general(fact)),
            insert_before(call.args[0], f"{kind}, "),
        )
    return Change(message, rewrites, Safety.UNSAFE)
