"""DEV109: one of two partners is moved under a condition and the other is not."""

from collections.abc import Iterator

from devlint.findings import Report
from devlint.flow.facts import Device, Guarded, Join, ModuleCall, Operand, difference
from devlint.rules import rule


@rule("uneven-guard", on=ModuleCall)
def uneven_call(call: ModuleCall) -> Iterator[Report]:
    yield from _uneven((call.module, *call.inputs))


@rule("uneven-guard", on=Join)
def uneven_join(join: Join) -> Iterator[Report]:
    yield from _uneven(join.placed)


def _uneven(operands: tuple[Operand, ...]) -> Iterator[Report]:
    moved = next((operand for operand in operands if operand.guarded), None)
    if moved is None:
        return
    for other in operands:
        found = difference(moved.device, other.device)
        # Two conditions may always hold together, and a symbol may be the CPU: nothing is proved.
        if found is None or not found.certain or len(found.when) != 1:
            continue
        ((condition, holds),) = found.when
        where = f"`{condition}`" if holds else f"not `{condition}`"
        there, here = _at(moved.device, found.when), _at(other.device, found.when)
        yield Report(
            at=other.node,
            message=f"`{other}` is on {here} where `{moved}` is on {there}: where {where}",
            because=(*moved.trace, *other.trace),
            help="move both under one condition, or both to one `device` without any",
        )


def _at(device: Device, when: tuple[tuple[str, bool], ...]) -> Device:
    """The device where the conditions are as `when` says."""
    while isinstance(device, Guarded):
        device = device.yes if (device.key, True) in when else device.no
    return device
