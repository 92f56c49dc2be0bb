"""DEV109: one of two partners is moved under a condition and the other is not."""

from collections.abc import Iterable, Iterator

from devlint.flow.facts import (
    CUDA_AVAILABLE,
    ON_HOST,
    Join,
    Kind,
    ModuleCall,
    Operand,
    Role,
    chosen_apart,
    conditions,
    device_at,
    difference,
    is_chosen,
    worded,
)
from devlint.model.reports import Report
from devlint.rules import rule
from devlint.rules._meetings import fresh, root
from devlint.rules._moving import keep_target, move_from_the_start
from devlint.rules._remedies import devices_of


@rule("uneven-guard", on=ModuleCall)
def uneven_call(call: ModuleCall) -> Iterator[Report]:
    yield from _uneven((call.module, *call.inputs), call.context.role, module=call.module)


@rule("uneven-guard", on=Join)
def uneven_join(join: Join) -> Iterator[Report]:
    yield from _uneven(join.placed, join.context.role, join.inplace)


def _uneven(
    operands: tuple[Operand, ...],
    role: Role,
    inplace: bool = False,
    module: Operand | None = None,
) -> Iterator[Report]:
    moved = next((operand for operand in operands if operand.guarded), None)
    if moved is None or role in (Role.DATA, Role.MANAGED):
        return
    for other in operands:
        found = difference(moved.device, other.device)
        if found is None:
            continue
        # Two conditions may always hold together, and a symbol may be the CPU: nothing is proved,
        # but of what was made there and meets a device that was chosen.
        there, here = device_at(moved.device, found.when), device_at(other.device, found.when)
        if not found.certain and not (fresh(other) and is_chosen(there)):
            continue
        named = tuple(each for each in found.when if each != (CUDA_AVAILABLE, True)) or found.when
        apart = chosen_apart(named, moved.device, other.device) or named[-1:]
        if len(apart) != 1:
            continue
        ((condition, _),) = apart
        if condition.endswith(ON_HOST) and condition not in conditions(moved.device):
            continue  # it asks where one of them is: that is no free choice
        if inplace and other is operands[0]:
            fix = keep_target(other, moved, devices_of(moved))
        else:
            is_module = moved is module or moved.kind is Kind.MODULE
            fix = move_from_the_start(other, moved, module=is_module)
        clause = _clause(named)
        yield Report(
            at=other.node,
            message=f"`{other}` is on {here} but `{moved}` is on {there} {clause}",
            because=(*moved.trace, *other.trace),
            fix=fix,
            root=root(other),
            help="move both under one condition, or both to one `device` without any",
        )


def _clause(when: Iterable[tuple[str, bool]]) -> str:
    """`when `flag`, unless `other``."""
    clauses = []
    for holds, word, joined in ((True, "when", " and "), (False, "unless", " or ")):
        parts = [worded(condition) for condition, each in when if each is holds]
        if parts:
            clauses.append(f"{word} {joined.join(parts)}")
    return ", ".join(clauses)
