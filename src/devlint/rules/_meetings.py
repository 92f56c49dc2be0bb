"""What the rules about two devices share: which pair is reported, by whom, and in what words.

Exactly one rule speaks of a pair: the rule on uneven guards where `uneven` holds, the rule on
unregistered tensors where one side is a plain attribute of a module, DEV203 where
`made_on_default` holds, and DEV201 or DEV202 otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from devlint import ir
from devlint.findings import Change, Hop, Rewrite, Safety, insert_after, insert_before
from devlint.flow.facts import (
    CUDA_AVAILABLE,
    Context,
    Device,
    Known,
    Operand,
    Origin,
    Role,
    Symbol,
    difference,
    left_out,
    may_be_accelerator,
)

_UNCUT = 10_000  # characters: more than any expression that is worth reading
_EXPRESSION = re.compile(r"[A-Za-z_][\w.]*(\[[^\[\]]+\])?")
_ATOMS = (ir.Name, ir.Attribute, ir.Subscript, ir.Call)
_OPERATIONS = (ir.Binary, ir.Unary, ir.Boolean, ir.Compare, ir.Conditional)
_CREATORS = frozenset({
    "arange", "as_tensor", "empty", "eye", "full", "linspace", "logspace", "ones", "rand",
    "randint", "randn", "randperm", "tensor", "tril_indices", "triu_indices", "zeros",
})  # fmt: skip


# --- who speaks ----------------------------------------------------------------------------


def uneven(a: Operand, b: Operand) -> bool:
    """Whether one of the two was moved in one branch of an `if` only."""
    return a.guarded or b.guarded


def fresh(operand: Operand) -> bool:
    """Whether it was made without a device, or from data of the host."""
    return operand.origin in (Origin.DEFAULT, Origin.HOST_DATA)


def made_on_default(odd: Operand, partner: Operand, context: Context) -> bool:
    """Whether a fresh tensor meets something that goes wherever the model or the input goes."""
    if not fresh(odd) or not isinstance(partner.device, Symbol):
        return False
    return context.role is Role.MODULE or partner.origin in (Origin.FOLLOWS, Origin.INPUT)


def clash(odd: Operand, partner: Operand, context: Context) -> bool:
    """Whether `odd` and `partner` are on two devices, and no other rule says so."""
    pair = (odd, partner)
    if uneven(odd, partner) or any(o.origin is Origin.ATTRIBUTE for o in pair):
        return False
    if context.role is Role.DATA:  # host code on purpose
        return False
    if context.role is Role.MANAGED and any(o.origin is Origin.LOADED for o in pair):
        return False
    argument = partner.origin is Origin.INPUT and isinstance(partner.device, Symbol)
    if argument and (not fresh(odd) or context.role is Role.TEST):
        return False  # an argument may well be meant to be on the CPU; a fresh tensor ties it
    found = difference(odd.device, partner.device)
    if found is None:
        return False
    if context.role is Role.TEST and not found.certain:
        return False  # a test's own modules stay where the test leaves them
    # Where CUDA is absent a bare "cuda" fails by itself: that is another rule's business.
    absent = (CUDA_AVAILABLE, False) in found.when
    return not (absent and any(_is_cuda(o.device) for o in pair))


def pairs(placed: tuple[Operand, ...], context: Context) -> Iterable[tuple[Operand, Operand]]:
    """The operands of one operation that are elsewhere, each with the one it should be with."""
    if not placed:
        return
    partner = min(placed, key=lambda o: (not may_be_accelerator(o.device), not named(o.node)))
    for odd in placed:
        if odd is not partner and clash(odd, partner, context):
            yield odd, partner


def _is_cuda(device: Device) -> bool:
    return isinstance(device, Known) and device.type == "cuda"


# --- in what words -------------------------------------------------------------------------


def place(device: Device) -> str:
    """ "on cpu", "on `args.device`", "where `x` is"."""
    text = str(left_out(device))
    return text if text.startswith("where") else f"on {text}"


def sentence(odd: Operand, partner: Operand) -> str:
    """Both sides and their places."""
    if str(odd) == str(partner):
        return f"`{odd}` holds tensors {place(odd.device)} and {place(partner.device)}"
    if is_own_place(partner):
        return f"`{odd}` is {place(odd.device)} but `{partner}` may be on an accelerator"
    return f"`{odd}` is {place(odd.device)} but `{partner}` is {place(partner.device)}"


def followed_by(operand: Operand, text: str) -> str:
    """`x.cpu()`: its source with `text` behind it; only `text` where the source is too long."""
    if ir.render(operand.node) != ir.render(operand.node, _UNCUT):
        return text
    return f"({operand}){text}" if isinstance(operand.node, _OPERATIONS) else f"{operand}{text}"


def because(odd: Operand, partner: Operand) -> tuple[Hop, ...]:
    """How both came to be where they are: one side after the other, each oldest first."""
    return distinct((*partner.trace, *odd.trace))


def distinct(hops: Iterable[Hop]) -> tuple[Hop, ...]:
    """The hops, each once."""
    found: list[Hop] = []
    for hop in hops:
        if not any(hop.node is known.node and hop.message == known.message for known in found):
            found.append(hop)
    return tuple(found)


def named(node: ir.Expr) -> bool:
    """Whether it can be written twice without doing anything twice: `x`, `self.x`, `batch.x`."""
    while isinstance(node, ir.Attribute):
        node = node.value
    return isinstance(node, ir.Name)


def device_of(partner: Operand, module: bool = False) -> str:
    """An expression for the device of `partner`, or "" where there is no short one."""
    if module and isinstance(partner.device, Symbol) and not is_own_place(partner):
        label = partner.device.label
        if _EXPRESSION.fullmatch(label):
            return label
    if not named(partner.node):
        return ""
    return f"next({partner}.parameters()).device" if module else f"{partner}.device"


def is_own_place(operand: Operand) -> bool:
    """Whether no more is known than that it is where it is."""
    return isinstance(operand.device, Symbol) and operand.device.label == f"{operand}.device"


def remedy(odd: Operand, partner: Operand, module: bool = False) -> str:
    """What to do, in one line."""
    target = device_of(partner, module)
    if fresh(odd):
        return f"make it there: `device={target}`" if target else "make it there with `device=`"
    if not target:
        return f"move `{odd}` to the device of `{partner}`"
    if not named(odd.node):
        return f"move it: `{followed_by(odd, f'.to({target})')}`"
    return f"move it first: `{odd} = {odd}.to({target})`"


# --- fixes ---------------------------------------------------------------------------------


def suffix(node: ir.Expr, text: str) -> tuple[Rewrite, ...]:
    """Put `text` (".cpu()") behind an expression, in parentheses where it needs them."""
    if isinstance(node, _ATOMS):
        return (insert_after(node, text),)
    if isinstance(node, _OPERATIONS):
        return (insert_before(node, "("), insert_after(node, ")" + text))
    return ()


def move_to(odd: Operand, partner: Operand) -> Change | None:
    """Move `odd` to where the tensor `partner` is: into its creation call, or behind it."""
    node = odd.node
    if node is partner.node or not odd.kind.is_tensor_like or not named(partner.node):
        return None
    device = own_device(partner)
    rewrites = put_on(node, device)
    if not rewrites:
        return None
    return Change(f"Move `{odd}` to `{device}`", rewrites, Safety.UNSAFE)


def own_device(operand: Operand) -> str:
    """`x.device`, uncut."""
    return f"{ir.render(operand.node, 200)}.device"


def put_on(node: ir.Expr, device: str) -> tuple[Rewrite, ...]:
    """Put what an expression gives on `device`: in its creation call, or by a move behind it."""
    return _in_creation(node, device) or suffix(node, f".to({device})")


def _in_creation(node: ir.Expr, device: str) -> tuple[Rewrite, ...]:
    """`torch.ones(3)` -> `torch.ones(3, device=...)`."""
    match node:
        case ir.Call(func=ir.Attribute(value=ir.Name(id="torch"), attr=attr), args=args) if (
            attr in _CREATORS
            and args
            and not any(arg.star == "**" or arg.keyword in ("device", "out") for arg in args)
        ):
            return (insert_after(args[-1], f", device={device}"),)
    return ()
