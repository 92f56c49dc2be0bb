"""What the rules advise about two devices, and the edits that do it."""

from __future__ import annotations

from dataclasses import replace

from devlint.flow.facts import MOVES, Operand, Origin, Sort, Step, Symbol
from devlint.model import ir
from devlint.model.findings import (
    Anchor,
    Change,
    Rewrite,
    Safety,
    insert_after,
    insert_before,
    insert_below,
    replace_tail,
)
from devlint.model.trees import is_cast
from devlint.rules._meetings import OPERATIONS, followed_by, fresh, is_own_place, named

_ATOMS = (ir.Name, ir.Attribute, ir.Subscript, ir.Call)
_CREATORS = frozenset({
    "arange", "as_tensor", "empty", "eye", "full", "linspace", "logspace", "ones", "rand",
    "randint", "randn", "randperm", "tensor", "tril_indices", "triu_indices", "zeros",
})  # fmt: skip


# --- in words ------------------------------------------------------------------------------


def device_of(partner: Operand, module: bool = False) -> str:
    """An expression for the device of `partner`, or "" where there is no short one."""
    if module and isinstance(partner.device, Symbol) and not is_own_place(partner):
        if partner.device.is_spelled:
            return partner.device.label
    if not named(partner.node):
        return ""
    return f"next({_whole(partner)}.parameters()).device" if module else own_device(partner)


def remedy(odd: Operand, partner: Operand, module: bool = False) -> str:
    """What to do, in one line."""
    target = device_of(partner, module)
    if fresh(odd):
        return f"make it there: `device={target}`" if target else "make it there with `device=`"
    if not target:
        return f"move `{odd}` to the device of `{partner}`"
    if not named(odd.node):
        return f"move it: `{followed_by(_before_move(odd), f'.to({target})')}`"
    return f"move it first: `{odd} = {odd}.to({target})`"


def _before_move(odd: Operand) -> Operand:
    """What is moved, of an expression that moves it to the wrong place: `x` of `x.cuda()`."""
    match odd.node:
        case ir.Call(func=ir.Attribute(value=inner, attr="to" | "cuda" | "cpu")) if (
            odd.origin is Origin.MOVED
        ):
            return replace(odd, node=inner)
    return odd


# --- fixes ---------------------------------------------------------------------------------


def suffix(node: ir.Expr, text: str) -> tuple[Rewrite, ...]:
    """Put `text` (".cpu()") behind an expression, in parentheses where it needs them."""
    if isinstance(node, _ATOMS):
        return (insert_after(node, text),)
    if isinstance(node, OPERATIONS):
        return (insert_before(node, "("), insert_after(node, ")" + text))
    return ()


def move_from_the_start(odd: Operand, partner: Operand, module: bool = False) -> Change | None:
    """Move `odd` to where `partner` is where it comes from: a batch at the top of its loop, what a
    call makes behind that call; or else where it is used. The device is in the words by which
    `partner` was moved, where they can be typed there."""
    if odd.node is partner.node:
        return None
    chosen: Change | None = None
    for place in (_at_use, _at_start):
        for device, told in reversed(devices_of(partner, module)):
            rewrites = place(odd, device)
            if rewrites:
                made = rewrites[0].start.side == "end" and place is _at_start
                moved = f"Move `{_root(odd.node) or odd}` to `{device}`"
                message = f"Make it on `{device}`" if made else moved
                together = () if told is None else (rewrites[0].start.node, told)
                names = (first_name(device),)
                chosen = Change(
                    message, rewrites, Safety.UNSAFE, together, names=names, otherwise=chosen
                )
    return chosen


def devices_of(partner: Operand, module: bool = False) -> list[tuple[str, ir.Expr | None]]:
    """Expressions for the device of `partner`, the best first, each with the call that says it."""
    found: list[tuple[str, ir.Expr | None]] = []
    placed = [step.node for step in partner.steps if step.sort in _PLACING]
    for call in placed[-1:]:
        said = _said(call)
        if said is not None and named(said) and isinstance(call, ir.Expr):
            found.append((ir.render(said, 200), call))
    device = partner.device
    if isinstance(device, Symbol) and device.is_spelled:
        found.append((device.label, None))
    if text := device_of(partner, module):
        found.append((text, None))
    return found


_PLACING = (*MOVES, Sort.NAMED, Sort.CHOSEN, Sort.STORED)


def _said(node: ir.Node) -> ir.Expr | None:
    """The device in `x.to(device)` and `torch.rand(3, device=device)`."""
    match node:
        case ir.Call(func=ir.Attribute(attr="to"), args=(argument,)) if not argument.star:
            return argument.value
        case ir.Call(args=args):
            return next((each.value for each in args if each.keyword == "device"), None)
    return None


def first_name(device: str) -> str:
    """`model` of `next(model.parameters()).device`."""
    return device.removeprefix("next(").partition(".")[0].partition("[")[0]


def _at_use(odd: Operand, device: str) -> tuple[Rewrite, ...]:
    return put_on(odd.node, device) if odd.kind.is_tensor_like else ()


def _at_start(odd: Operand, device: str) -> tuple[Rewrite, ...]:
    """Move it at the top of the loop that gives it, or behind the call that makes it. A batch that
    is cast may be of a dtype that the device doesn't take: it is moved where it is used."""
    name = _root(odd.node)
    for step in odd.steps:
        match step:
            case Step(sort=Sort.LOADED, node=loader) if name and not is_cast(odd.node):
                return (insert_below(loader, f"{name} = {name}.to({device})", name),)
            case Step(sort=sort, node=ir.Call() as made) if sort in _MAKING:
                return put_on(made, device)
    return ()


_MAKING = (Sort.ENCODED, Sort.HOST_DATA, Sort.FILE, Sort.DEFAULT)


def _root(node: ir.Expr) -> str:
    """The tensor of which an expression is made by methods and operators alone: `x` of
    `x.float().unsqueeze(1)`."""
    while isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute):
        node = node.func.value
    return node.id if isinstance(node, ir.Name) else ""


def own_device(operand: Operand) -> str:
    """`x.device`, uncut."""
    return f"{_whole(operand)}.device"


def _whole(operand: Operand) -> str:
    return ir.render(operand.node, 200)


def put_on(node: ir.Expr, device: str) -> tuple[Rewrite, ...]:
    """Put what an expression gives on `device`: in its creation call, or by a move behind it."""
    return put_in_creation(node, device) or move_behind(node, device)


def move_behind(node: ir.Expr, device: str) -> tuple[Rewrite, ...]:
    """`x` -> `x.to(device)`, and `x.float()` -> `x.float().to(device)`: data of the host may be of
    float64, which some accelerators don't take."""
    move = f".to({device})"
    return tuple(
        replace(rewrite, cast=(node, move)) if rewrite.text == move else rewrite
        for rewrite in suffix(node, move)
    )


def put_in_creation(node: ir.Expr, device: str) -> tuple[Rewrite, ...]:
    """`torch.ones(3)` -> `torch.ones(3, device=...)`."""
    match node:
        case ir.Call(func=ir.Attribute(value=ir.Name(id="torch"), attr=attr), args=args) if (
            attr in _CREATORS
            and args
            and not any(arg.star == "**" or arg.keyword in ("device", "out") for arg in args)
        ):
            made = insert_after(args[-1], f", device={device}")
            if attr in _OF_DATA and not _is_spelled_out(args[0].value):
                made = replace(made, cast=(node, f".to({device})"))
            return (made,)
    return ()


_OF_DATA = ("as_tensor", "tensor")


def _is_spelled_out(data: ir.Expr) -> bool:
    """Whether it is `1.0` or `[x, 1.0]`: what Python's own numbers make is of the default dtype."""
    return isinstance(data, (ir.Constant, ir.Display))


def without(call: ir.Call, argument: ir.Argument) -> tuple[Rewrite, ...]:
    """Take an argument out of a call, with the comma before or after it."""
    if argument not in call.args:
        return ()  # something unpacks it
    index = call.args.index(argument)
    if index:
        return (replace_tail(call.args[index - 1], argument, ""),)
    if len(call.args) > 1:
        return (Rewrite(Anchor(argument, "start"), Anchor(call.args[1], "start"), ""),)
    return (Rewrite(Anchor(argument, "start"), Anchor(argument, "end"), ""),)
