"""What the rules advise about two devices, and the expressions that name one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from devlint.flow.facts import MOVES, Operand, Origin, Sort, Symbol
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Rewrite
from devlint.model.trees import descendants, device_argument, is_named, written
from devlint.rules._meetings import followed_by, fresh, is_own_place


def device_of(partner: Operand, module: bool = False) -> str:
    """An expression for the device of `partner`, or "" where there is no short one."""
    if module and isinstance(partner.device, Symbol) and not is_own_place(partner):
        if partner.device.is_spelled:
            return partner.device.label
    if not is_named(partner.node):
        return ""
    return f"next({_whole(partner)}.parameters()).device" if module else f"{_whole(partner)}.device"


def remedy(odd: Operand, partner: Operand, module: bool = False) -> str:
    """What to do, in one line."""
    target = device_of(partner, module)
    if fresh(odd):
        return f"make it there: `device={target}`" if target else "make it there with `device=`"
    if not target:
        return f"move `{odd}` to the device of `{partner}`"
    if not is_named(odd.node):
        return f"move it: `{followed_by(before_move(odd), f'.to({target})')}`"
    if odd.among:
        return f"move what it holds: `[item.to({target}) for item in {odd}]`"
    return f"move it first: `{odd} = {odd}.to({target})`"


def before_move(odd: Operand) -> Operand:
    """What is moved, of an expression that moves it to the wrong place: `x` of `x.cuda()`."""
    inner = moved_by(odd.node) if odd.origin is Origin.MOVED else None
    return odd if inner is None else replace(odd, node=inner)


def moved_by(node: ir.Node) -> ir.Expr | None:
    """`x` of `x.to(...)`, `x.cuda()` and `x.cpu()`."""
    match node:
        case ir.Call(func=ir.Attribute(value=inner, attr="to" | "cuda" | "cpu")):
            return inner
    return None


# --- expressions for a device ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Words:
    """An expression for a device, the names in it, and the call or tensor that it is taken from:
    its names mean the same there; or there is none but in methods of the class of `peers`. It says
    the right one below `after`, where that was moved."""

    text: str
    names: tuple[str, ...]
    told: ir.Node | None = None
    peers: ir.Node | None = None
    of_module: bool = False
    after: ir.Node | None = None


IN_SCOPE = Words("device", ("device",))
"""What may be the name of the right device where something is made: it is tried."""


def on_chosen(rewrite: Rewrite, help: str) -> Change:
    """Use the device that the program has chosen, should `device` be bound there."""
    return Change(
        "Use `device`", (rewrite,), Safety.UNSAFE, names=IN_SCOPE.names, help=help, is_guess=True
    )


def devices_of(partner: Operand, module: bool = False) -> list[Words]:
    """Expressions for the device of `partner`, the best first: its own alone, where a condition
    moves it."""
    found: list[Words] = []
    placed = [step.node for step in partner.steps if step.sort in _PLACING]
    moved = placed[-1] if placed else None
    for call in () if partner.guarded else placed[-1:]:
        said = device_argument(call)
        asked = said and _asked(said)
        if said is not None and asked is not None and isinstance(call, ir.Expr):
            found.append(Words(written(said), names_in(asked), call))
    if not partner.guarded and partner.said is not None and (text := written(partner.said)):
        found.append(Words(text, names_in(partner.said)))
    device = partner.device
    if isinstance(device, Symbol) and device.is_spelled:
        found.append(Words(device.label, (first_name(device.label),)))
    if is_named(partner.node):
        text = f"next({_whole(partner)}.parameters())" if module else _whole(partner)
        own = Words(
            f"{text}.device", names_in(partner.node), partner.node, of_module=module, after=moved
        )
        found = [*(words for words in found if words.text != own.text), own]
    if partner.near is not None and (text := written(partner.near)):
        told = next(each for each in descendants(partner.near) if each.origin is not None)
        found.append(Words(f"{text}.device", names_in(partner.near), told, after=moved))
    return list({words.text: words for words in reversed(found)}.values())[::-1]


def _asked(device: ir.Expr) -> ir.Expr | None:
    """What a device is taken from, where that may be asked again: a name, or a module's parameters
    (`next(model.parameters()).device`)."""
    match device:
        case ir.Attribute(
            value=ir.Call(
                func=ir.Name(id="next"),
                args=(ir.Argument(value=ir.Call(func=ir.Attribute(value=module), args=())),),
            )
        ) if is_named(module):
            return module
    return device if is_named(device) else None


_PLACING = (*MOVES, Sort.NAMED, Sort.CHOSEN, Sort.STORED)


def names_in(node: ir.Expr) -> tuple[str, ...]:
    """The names that an expression uses."""
    return tuple(each.id for each in descendants(node) if isinstance(each, ir.Name))


def first_name(device: str) -> str:
    """`model` of `next(model.parameters()).device`."""
    return device.removeprefix("next(").partition(".")[0].partition("[")[0]


def _whole(operand: Operand) -> str:
    return written(operand.node)
