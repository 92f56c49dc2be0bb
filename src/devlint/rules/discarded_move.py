"""DEV302: a tensor, or an object that holds some, is moved and the result is thrown away."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import CPU, UNKNOWN, Kind, Move, Operand, Trait
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, Rewrite, insert_after, insert_before, replace_tail
from devlint.model.trees import descendants, device_argument, is_named, key, words, written
from devlint.rules import rule


@rule("discarded-move", on=Move)
def discarded_move(move: Move) -> Iterator[Report]:
    receiver = move.receiver
    if move.copies:
        yield Report(
            at=move.node,
            message=f"the result of `{ir.render(move.node)}` is thrown away: `{move.method}` of "
            f"`{receiver}` gives another object, and leaves this one where it is",
            because=receiver.trace,
            fix=_assignment(move),
            help="assign the result",
        )
    if not move.discarded or receiver.kind is not Kind.TENSOR:
        return
    if _is_made_here(move) or (move.method == "type" and not move.arguments):
        return
    if _only_converts(move) or _is_there(move):
        return
    yield Report(
        at=move.node,
        message=f"the result of `{ir.render(move.node)}` is thrown away: a tensor isn't moved in "
        "place",
        because=receiver.trace,
        fix=_assignment(move),
        help=_remedy(move),
    )


def _is_made_here(move: Move) -> bool:
    """Whether no name holds the tensor: it was made to wake a device up, or to wait for one.

    What converts data that has a name was meant to give the data a place.
    """
    node = move.receiver.node
    while True:
        match node:
            case ir.Call(func=ir.Attribute(value=ir.Name(id="torch"), attr=attr), args=(data,)) if (
                attr in ("tensor", "as_tensor", "from_numpy")
            ):
                return not isinstance(data.value, (ir.Name, ir.Attribute, ir.Subscript))
            case ir.Name():
                return False
            case ir.Attribute(value=inner) | ir.Subscript(value=inner):
                node = inner
            case ir.Call(func=ir.Attribute(value=inner), args=()):
                node = inner  # x.detach().cpu()
            case _:
                return move.device == CPU or _begins_here(move.receiver)


def _begins_here(receiver: Operand) -> bool:
    """Whether a step of what is known of a tensor stands in the expression that gives it."""
    inside = {id(each) for each in descendants(receiver.node)}
    return any(id(hop.node) in inside for hop in receiver.trace)


def _only_converts(move: Move) -> bool:
    """Whether a move names a dtype and no device: where things are doesn't hang on it."""
    if move.method == "type":
        return not any("cuda" in word for word in words(move.node))
    first = move.arguments[0][1] if move.arguments else None
    return first is not None and first.kind is Kind.DTYPE and len(move.arguments) == 1


def _remedy(move: Move) -> str:
    """A module lets nothing but a parameter take the place of one, and a tuple nothing at all."""
    if move.passing is not None and move.over in _AS_A_WHOLE:
        held, _ = _held(move.passing)
        moved = f"{ir.render(held)}.{move.method}({', '.join(map(ir.render, move.node.args))})"
        return _AS_A_WHOLE[move.over].format(held=ir.render(held), moved=moved)
    if move.receiver.value.trait is Trait.PARAMETER:
        return f"assign the result to `{move.receiver}.data`"
    if move.passing:
        return "store the result in what the loop goes over"
    return "assign the result"


_AS_A_WHOLE = {
    Kind.MODULE: "move the module: `{moved}`",
    Kind.TENSOR: "move the whole tensor: `{held} = {moved}`",
    Kind.TUPLE: "make a tuple of the results",
}


def _held(loop: ir.For) -> tuple[ir.Expr, str]:
    """What a loop goes over, and the method by which it does: `rows` and "values" of
    `rows.values()`."""
    match loop.iter:
        case ir.Call(func=ir.Attribute(value=held, attr=method), args=()):
            return held, method
    return loop.iter, ""


def _is_there(move: Move) -> bool:
    """Whether the tensor is where it is moved to already, so that nothing is lost."""
    if any(operand.kind is Kind.DTYPE for _, operand in move.arguments):
        return False
    match move.target.node if move.target is not None else None:
        case ir.Attribute(value=owner, attr="device") if key(owner) == key(move.receiver.node):
            return True  # `x.to(x.device)`
    steps = move.receiver.steps
    if move.device == UNKNOWN and move.target is not None and steps:
        last = device_argument(steps[-1].node)  # it was made, or moved, there
        return last is not None and key(last) == key(move.target.node)
    return move.device == move.receiver.device != UNKNOWN


def _assignment(move: Move) -> Change | None:
    """`x = ` before the call. What an attribute or an item holds may refuse it: that is unsafe."""
    receiver = move.receiver
    if receiver.value.grad or not is_named(receiver.node):
        return None
    if move.passing is not None:
        return _put_back(move, move.passing)
    target = written(receiver.node)
    safety = Safety.SAFE if isinstance(receiver.node, ir.Name) else Safety.UNSAFE
    return Change("Assign the result", (insert_before(move.node, f"{target} = "),), safety)


def _put_back(move: Move, loop: ir.For) -> Change | None:
    """`for x in xs: x.to(d)` -> `for i, x in enumerate(xs): xs[i] = x.to(d)`, and the same of the
    values of a dict."""
    held, method = _held(loop)
    around: tuple[Rewrite, ...]
    match move.over, method:
        case Kind.LIST, "":
            name, around = "i", (insert_before(held, "enumerate("), insert_after(held, ")"))
        case Kind.DICT, "values":
            name, around = "key", (replace_tail(held, loop.iter, ".items()"),)
        case _:
            return None
    if not is_named(held) or not isinstance(loop.target, ir.Name) or name in words(loop):
        return None
    rewrites = (
        insert_before(loop.target, f"{name}, "),
        *around,
        insert_before(move.node, f"{written(held)}[{name}] = "),
    )
    return Change("Store the result", rewrites, Safety.UNSAFE)
