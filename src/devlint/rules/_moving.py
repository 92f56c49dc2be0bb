"""The edits that put a tensor on another device: where it comes from, or where it is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from devlint.flow.facts import MOVES, TENSORS, Operand, Sort, Step, Trait
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import (
    Anchor,
    Change,
    Part,
    Rewrite,
    insert_after,
    insert_before,
    move_below,
    move_where_bound,
    replace_tail,
)
from devlint.model.trees import descendants, device_argument, is_cast, written
from devlint.rules._meetings import OPERATIONS, followed_by
from devlint.rules._remedies import IN_SCOPE, Words, before_move, devices_of, moved_by

_ATOMS = (ir.Name, ir.Attribute, ir.Subscript, ir.Call)
_CREATORS = frozenset({
    "arange", "as_tensor", "empty", "eye", "full", "linspace", "logspace", "ones", "rand",
    "randint", "randn", "randperm", "tensor", "tril_indices", "triu_indices", "zeros",
})  # fmt: skip


def move_from_the_start(odd: Operand, partner: Operand, module: bool = False) -> Change | None:
    """Move `odd` to where `partner` is where it comes from: a batch at the top of its loop, what a
    call makes behind that call, what has a name where it gets that; or else where it is used. The
    device is in the words by which `partner` was moved, where they can be typed there."""
    if odd.node is partner.node:
        return None
    devices = devices_of(partner, module) or [IN_SCOPE]
    chosen = make_there(odd, devices, move_where_used(odd, devices))
    return _moved(odd, devices, _below_loop, chosen)


def with_guess(devices: list[Words]) -> list[Words]:
    """The name `device`, should it be bound there, before what asks a module."""
    plain = [words for words in devices if not words.of_module]
    return [*plain, IN_SCOPE, *(words for words in devices if words.of_module)]


def make_there(odd: Operand, devices: list[Words], otherwise: Change | None) -> Change | None:
    """Make `odd` on another device, or move it behind the call that makes it."""
    called = _moved(odd, devices, _where_called, otherwise)
    made = _moved(odd, with_guess(devices), _where_made, called)
    return _moved(odd, devices, _in_loop, made)


def move_where_used(odd: Operand, devices: list[Words]) -> Change | None:
    """Move `odd` where it gets its name, or else where it is used; not so a distribution."""
    if odd.value.trait is Trait.OF_DISTRIBUTION:
        return None
    return _moved(odd, devices, _where_bound, _moved(odd, devices, _at_use, None))


def keep_target(odd: Operand, partner: Operand, devices: list[Words]) -> Change | None:
    """Of what is written into: make it on another device, or move what is written to where it
    is."""
    written = _moved(partner, devices_of(odd), _at_use, None)
    return make_there(odd, devices, _moved(odd, devices, _where_bound, written))


Place = Callable[[Operand, str], tuple[Rewrite, ...]]


def _moved(
    odd: Operand, devices: list[Words], place: Place, chosen: Change | None
) -> Change | None:
    for words in reversed(devices):
        rewrites = place(odd, words.text)
        if not rewrites:
            continue
        message, help = _in_words(odd, words.text, rewrites)
        at = rewrites[0].start.node
        together = () if words.told is None else (at, words.told)
        peers = () if words.peers is None else (at, words.peers)
        chosen = Change(
            message, rewrites, Safety.UNSAFE, together, peers, words.after,
            names=words.names, otherwise=chosen, help=help, is_guess=words is IN_SCOPE,
        )  # fmt: skip
    return chosen


def _in_words(odd: Operand, device: str, rewrites: tuple[Rewrite, ...]) -> tuple[str, str]:
    """What a fix does, and how to do it."""
    start, part = rewrites[0].start, rewrites[0].part
    if part is not None:
        return f"Move `{part.text}` to `{device}`", f"move it first: `{part.line(device)}`"
    if isinstance(start.node, ir.Argument):
        return f"Make it on `{device}`", f"make it there: `device={device}`"
    moved = replace(odd, node=start.node) if isinstance(start.node, ir.Expr) else odd
    return f"Move `{moved}` to `{device}`", f"move it: `{followed_by(moved, f'.to({device})')}`"


# --- where -----------------------------------------------------------------------------------


def _at_use(odd: Operand, device: str) -> tuple[Rewrite, ...]:
    """Where it is used, by the move that stands there, if that goes to the wrong place."""
    inner = before_move(odd).node
    if inner is not odd.node:
        return (replace_tail(inner, odd.node, f".to({device})"),)
    return put_on(odd.node, device) if odd.kind in TENSORS and not odd.among else ()


def _where_bound(odd: Operand, device: str) -> tuple[Rewrite, ...]:
    """Where the name gets its value by which it is used, or the dict of which it is a value."""
    part = part_of(odd)
    if (
        odd.among
        or part is None
        or part.text != part.name
        or any(isinstance(each, ir.Call) for each in descendants(odd.node))
    ):
        return ()  # what has the method may be no tensor
    return (move_where_bound(odd.node, part, device),)


def _in_loop(odd: Operand, device: str) -> tuple[Rewrite, ...]:
    """The same, where that is a loop: over a list, say, in which others are made elsewhere."""
    bound = _where_bound(odd, device)
    part = bound[0].part if bound else None
    return () if part is None else (move_where_bound(odd.node, part, device, "loop"),)


def _where_made(odd: Operand, device: str) -> tuple[Rewrite, ...]:
    """Behind the call that makes it, or by the move that takes it to the wrong place."""
    if isinstance(odd.node, ir.Unpacked):
        return ()  # one of several
    for step in reversed(odd.steps):
        match step:
            case (
                Step(sort=Sort.MOVE_HOST, node=move)
                | Step(node=ir.Call(func=ir.Attribute(attr="cuda")) as move)
            ) if (inner := moved_by(move)) is not None:
                return (replace_tail(inner, move, f".to({device})"),)
            case Step(sort=sort) if sort in MOVES:
                return ()
            case Step(sort=sort, node=ir.Call() as made) if sort in _MAKING:
                given = device_argument(made)
                same = isinstance(given, ir.Name) and given.id == device
                return () if same else put_on(made, device)
    return ()


def _where_called(odd: Operand, device: str) -> tuple[Rewrite, ...]:
    """Behind the call of another file's function that makes it."""
    calls = [step.node for step in odd.steps if step.sort is Sort.MADE_BY_CALL]
    return suffix(calls[0], f".to({device})") if calls and isinstance(calls[0], ir.Expr) else ()


_MAKING = (
    Sort.ENCODED, Sort.HOST_DATA, Sort.FILE, Sort.DEFAULT, Sort.NUMBERS, Sort.HOST_GENERATOR,
)  # fmt: skip


def _below_loop(odd: Operand, device: str) -> tuple[Rewrite, ...]:
    """At the top of the loop that gives it. A batch that is cast may be of a dtype that the device
    doesn't take: it is moved where it is used."""
    part = None if odd.among else part_of(odd)
    for step in odd.steps:
        if step.sort is Sort.LOADED and part is not None and not is_cast(odd.node):
            return (move_below(step.node, part, device),)
    return ()


def part_of(odd: Operand) -> Part | None:
    """The tensor of which alone an expression is made, and the name that holds it: `x` of
    `-x[:3].float() + 1`, `batch["x"]`, the dict of `**batch`."""
    node = odd.node
    match node:
        case ir.Unpacked(argument=ir.Argument(star="**", value=ir.Name(id=name))):
            return Part(name, name, each=True)
    while True:
        match node:
            case ir.Call(func=ir.Attribute(value=inner)):
                node = inner
            case ir.Subscript(value=inner, index=ir.Slice()) | ir.Unary(operand=inner):
                node = inner
            case (
                ir.Binary(left=inner, right=ir.Constant())
                | ir.Binary(left=ir.Constant(), right=inner)
            ):
                node = inner
            case _:
                break
    match node:
        case ir.Name(id=name):
            return Part(name, name)
        case ir.Subscript(value=ir.Name(id=name), index=ir.Constant(value=str())):
            return Part(name, written(node))
    return None


# --- how -------------------------------------------------------------------------------------


def suffix(node: ir.Expr, text: str) -> tuple[Rewrite, ...]:
    """Put `text` (".cpu()") behind an expression, in parentheses where it needs them."""
    if isinstance(node, _ATOMS):
        return (insert_after(node, text),)
    if isinstance(node, OPERATIONS):
        return (insert_before(node, "("), insert_after(node, ")" + text))
    return ()


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
