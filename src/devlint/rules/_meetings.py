"""What the rules about two devices share: which pair is reported, by whom, and in what words.

Exactly one rule speaks of a pair: the rule on uneven guards where `uneven` holds, the rule on
unregistered tensors where one side is a plain attribute of a module, the one on stale devices
where one side is on such a device, DEV203 where
`made_on_default` holds, and DEV201 or DEV202 otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable

from devlint.flow.facts import (
    CPU,
    IS_NONE,
    MOVES,
    UNKNOWN,
    Context,
    Device,
    Guarded,
    Operand,
    Origin,
    Role,
    Sort,
    Symbol,
    asks_type,
    chooses_host,
    device_at,
    difference,
    identity,
    is_chosen,
    leaves,
    left_out,
    may_be_accelerator,
    may_be_host,
    only_host,
    stands_in,
    worded,
)
from devlint.model import ir
from devlint.model.findings import Confidence
from devlint.model.reports import Hop
from devlint.model.trees import is_named, key

_OF_ATTRIBUTES = (Origin.ATTRIBUTE, Origin.STALE)
OPERATIONS = (ir.Binary, ir.Unary, ir.Boolean, ir.Compare, ir.Conditional)


# --- who speaks ----------------------------------------------------------------------------


def uneven(a: Operand, b: Operand) -> bool:
    """Whether one of the two was moved in one branch of an `if` only."""
    return a.guarded or b.guarded


def fresh(operand: Operand) -> bool:
    """Whether it was made without a device, or from data of the host."""
    return operand.origin in (Origin.DEFAULT, Origin.HOST_DATA)


def creation(operand: Operand) -> ir.Expr:
    """The call that made a fresh tensor, or a module; the operand where that isn't known."""
    calls = (hop.node for hop in operand.trace if isinstance(hop.node, ir.Call))
    return next(calls, operand.node)


_GIVING = (Sort.LOADED, Sort.ENCODED)
_MAKING = (Sort.MODULE, Sort.COPY, Sort.PRETRAINED)


def root(odd: Operand) -> ir.Node | None:
    """The call that made a tensor where it is, or moved it there last; the loop or the call that
    gave it, with others that belong to it; the call that made the module whose output it is."""
    given = [step.node for step in odd.steps if step.sort in _GIVING]
    if given and odd.origin in (Origin.LOADED, Origin.ENCODED):
        return given[-1]
    if odd.origin is Origin.FOLLOWS and only_host(odd.device):
        return next((step.node for step in odd.steps if step.sort in _MAKING), None)
    placed = fresh(odd) or odd.origin is Origin.MOVED
    last = odd.trace[-1].node if odd.trace and placed else None
    return last if isinstance(last, ir.Call) else None


def made_on_default(odd: Operand, partner: Operand, context: Context) -> bool:
    """Whether a fresh tensor meets something that goes wherever the model or the input goes."""
    if not fresh(odd):
        return False
    if isinstance(partner.device, Guarded):
        return _stood_in(odd, partner)
    if not isinstance(partner.device, Symbol):
        return False
    return context.role is Role.MODULE or partner.origin in (Origin.FOLLOWS, Origin.INPUT)


def _come_together(when: tuple[tuple[str, bool], ...]) -> bool:
    """Whether they differ only where one argument is a tensor and another is none: most likely
    both are of one type."""
    asked = [(key, holds) for key, holds in when if stands_in(key)]
    return len({holds for _, holds in asked}) > 1 and any(asks_type(key) for key, _ in asked)


def _stood_in(odd: Operand, partner: Operand) -> bool:
    """Whether the partner is an argument, or what was made where that is no tensor."""
    found = difference(odd.device, partner.device)
    if found is None or not all(stands_in(key) for key, _ in found.when):
        return False
    return isinstance(device_at(partner.device, found.when), Symbol)


def clash(odd: Operand, partner: Operand, context: Context) -> bool:
    """Whether `odd` and `partner` are on two devices, and no other rule says so."""
    pair = (odd, partner)
    if uneven(odd, partner) or any(o.origin in _OF_ATTRIBUTES for o in pair):
        return False
    if _is_moved_to_meet(partner, odd):
        return False
    if context.role is Role.DATA and not partner.is_moved:
        return False  # host code on purpose, that is given what nobody is seen to move
    if context.role is Role.MANAGED and any(o.origin is Origin.LOADED for o in pair):
        return False
    argument = partner.origin is Origin.INPUT and isinstance(partner.device, Symbol)
    if argument and (not fresh(odd) or context.role is Role.TEST):
        return False  # an argument may well be meant to be on the CPU; a fresh tensor ties it
    found = difference(odd.device, partner.device)
    if found is None or _falls_through(found.when) or _come_together(found.when):
        return False
    if found.when and (_is_of_default(odd, found.when) or _is_unasked(partner, found.when)):
        return False
    # A test's own modules stay where the test leaves them.
    return found.certain or context.role is not Role.TEST


def _is_moved_to_meet(partner: Operand, odd: Operand) -> bool:
    """Whether a move stands in the meeting itself, for the sake of something of which nothing else
    tells where it is than that both came together: who writes so knows that it is there."""
    moved = any(each.node is partner.node and each.sort in MOVES for each in partner.steps)
    return moved and any(step.sort is Sort.BESIDE_MOVED for step in odd.steps)


def _is_of_default(odd: Operand, when: tuple[tuple[str, bool], ...]) -> bool:
    """Whether they differ only where an argument is given, and meet without harm where a tensor
    stands in for it: what is given most likely is where that is."""
    return fresh(odd) and all(key.endswith(IS_NONE) and not holds for key, holds in when)


def _is_unasked(partner: Operand, when: tuple[tuple[str, bool], ...]) -> bool:
    """Whether they differ only where nobody has asked for an accelerator (`if self.cuda:`), and the
    partner is where only a run can tell: on the host then."""
    unasked = any(chooses_host(key, holds) for key, holds in when)
    return unasked and isinstance(device_at(partner.device, when), Symbol)


def _falls_through(when: tuple[tuple[str, bool], ...]) -> bool:
    """Whether it takes a value that is none of those that an `if` and its `elif` compare it with:
    they most likely are all that there are."""
    refused = [key.partition(" == ")[0] for key, holds in when if " == " in key and not holds]
    return len(set(refused)) < len(refused)


def is_left(module: Operand) -> bool:
    """Whether a module was made on the host and never moved."""
    return only_host(module.device) and module.origin is Origin.DEFAULT and not module.guarded


def apart(module: Operand, other: Operand, context: Context) -> bool:
    """Whether a module that was left behind meets something that is elsewhere for sure."""
    found = difference(module.device, other.device)
    if found is None or uneven(module, other) or other.origin is Origin.ATTRIBUTE:
        return False
    return context.role is not Role.DATA and (found.certain or context.role is not Role.TEST)


def pairs(placed: tuple[Operand, ...], context: Context) -> Iterable[tuple[Operand, Operand]]:
    """The operands of one operation that are elsewhere, each with the one it should be with."""
    if not placed:
        return
    partner = min(placed, key=_trust)
    for odd in placed:
        if odd is not partner and clash(odd, partner, context):
            yield odd, partner


def _trust(operand: Operand) -> tuple[bool, bool, bool, bool]:
    """How well an operand tells where the others should be: the best comes first."""
    usual = left_out(operand.device)
    might = may_be_accelerator(operand.device)
    return not may_be_accelerator(usual), not might, may_be_host(usual), not is_named(operand.node)


def confidence(*devices: Device) -> Confidence:
    """High where the source, or whoever runs it, says what each of them is; else it takes somebody
    who moves the model, or passes a tensor of an accelerator."""
    chosen = all(is_chosen(left_out(device)) for device in devices)
    return Confidence.HIGH if chosen else Confidence.MEDIUM


# --- in what words -------------------------------------------------------------------------


def place(of: Operand | Device) -> str:
    """ "on cpu", "on `args.device`", "where `x` is"."""
    device = of.device if isinstance(of, Operand) else of
    usual = left_out(device)
    if isinstance(of, Operand) and usual in (UNKNOWN, device):
        text = of.place
    else:
        text = str(device if usual == UNKNOWN else usual)
    return text if text.startswith("where") else f"on {text}"


def _whole_place(of: Operand) -> str:
    """Where it is under all conditions, in words of its own."""
    text = str(of.device)
    return text if text.startswith("where") else f"on {text}"


def where(odd: Operand, partner: Operand) -> tuple[str, str]:
    """ "on cpu", and of a tensor that another path makes elsewhere, or of which nothing is known
    there, " when `flag`"."""
    found = difference(odd.device, partner.device)
    in_part = fresh(odd) or UNKNOWN in leaves(odd.device)
    if found is None or not in_part or not isinstance(odd.device, Guarded):
        return place(odd), ""
    when = [each for each in found.when if not stands_in(each[0])]
    conditions = [f"{'when' if holds else 'unless'} {worded(key)}" for key, holds in when]
    words = f" {' and '.join(conditions)}" if conditions else ""
    return place(device_at(odd.device, found.when)), words


def sentence(odd: Operand, partner: Operand) -> str:
    """Both sides and their places."""
    if key(odd.node) == key(partner.node):
        return f"`{odd}` holds tensors {place(odd)} and {place(partner)}"
    if place(odd) == place(partner):  # by one name, or where something is left out
        return f"`{odd}` is {_whole_place(odd)} but `{partner}` is {_whole_place(partner)}"
    ours, theirs = _host_of_choice(odd, partner), _host_of_choice(partner, odd)
    at, when = where(odd, partner)
    here = f"{at}{when}" if when or not ours else f"{at}{ours},"
    if is_own_place(partner):
        return f"`{odd}` is {here} but `{partner}` may be on an accelerator"
    return f"`{odd}` is {here} but `{partner}` is {place(partner)}{theirs}"


def _host_of_choice(operand: Operand, other: Operand) -> str:
    """That the device which a program has chosen may be the host, where it differs by that."""
    found = difference(operand.device, other.device)
    if found is None or operand.place == str(operand.device) or place(operand) == place(CPU):
        return ""
    return ", which may be cpu" if device_at(operand.device, found.when) == CPU else ""


def followed_by(operand: Operand, text: str) -> str:
    """`x.cpu()`: its source with `text` behind it; only `text` where the source is too long."""
    if ir.is_cut(operand.node):
        return text
    return f"({operand}){text}" if isinstance(operand.node, OPERATIONS) else f"{operand}{text}"


def because(odd: Operand, partner: Operand) -> tuple[Hop, ...]:
    """How both came to be where they are: one side after the other, each oldest first."""
    return distinct((*partner.trace, *odd.trace))


def distinct(hops: Iterable[Hop]) -> tuple[Hop, ...]:
    """The hops, each once."""
    return tuple(dict.fromkeys(hops))


def is_own_place(operand: Operand) -> bool:
    """Whether no more is known than that it is where it is."""
    return is_place_of(operand.device, operand.node)


def is_place_of(place: Device, node: ir.Expr) -> bool:
    """Whether it is the place of what an expression names: `x.device` of `x`."""
    spelled = isinstance(place, Symbol) and place.is_spelled
    return spelled and place == Symbol(f"{identity(node)}.device", "")
