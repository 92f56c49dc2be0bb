"""DEV407: a move turns a parameter, or a leaf, into a plain tensor."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import (
    CPU,
    MOVES,
    NO_LEAVES,
    ApiCall,
    AttributeRead,
    AttributeWrite,
    Operand,
    Trait,
)
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, insert_after, replace_tail
from devlint.model.trees import key, written
from devlint.rules import rule
from devlint.rules._moving import suffix, without

_FIRST = "move the tensor first: `nn.Parameter(tensor.to(device))`"
_PLAIN = (ir.Name, ir.Attribute, ir.Constant)


@rule("moved-parameter", on=AttributeWrite)
def moved_parameter(write: AttributeWrite) -> Iterator[Report]:
    """Report `self.w = nn.Parameter(t).to(device)`."""
    if write.self_module and write.value.value.trait is Trait.MOVED_PARAMETER:
        again = _is_moved_again(write)
        if write.value.device == CPU or (again and not write.context.function.endswith(_MAKES)):
            return  # it is there already, and stays a parameter: else the line would raise
        lost = f"`self.{write.attr}` isn't a parameter: the module doesn't register it, and no "
        refused = f"it can't take the place of the parameter `self.{write.attr}`: that raises"
        yield Report(
            at=write.value.node,
            message=f"{_returned(write.value)} a plain tensor, so "
            + (refused if again else f"{lost}optimizer gets it"),
            because=write.value.trace,
            fix=_move_inside(write.value.node),
            help=_FIRST,
            root=write.value.node,
        )


@rule("moved-parameter", on=ApiCall)
def moved_leaf(call: ApiCall) -> Iterator[Report]:
    """Report an optimizer that is given `torch.randn(n, requires_grad=True).cuda()`."""
    if not call.name.startswith("torch.optim."):
        return
    for operand in (*call.positional[:1], *(o for name, o in call.keywords if name == "params")):
        if operand.value.trait in NO_LEAVES and operand.device != CPU:
            node = _only_item(operand.node)
            move = _move(operand)
            yield Report(
                at=node,
                message=f"`{ir.render(node)}` was moved to an accelerator after it was made, so it "
                "is no leaf: the optimizer can't train it",
                because=operand.trace,
                fix=_ask_afterwards(operand) or (_move_inside(move) if move else None),
                help="make it there: `device=device, requires_grad=True`",
                root=move,
            )


@rule("moved-parameter", on=AttributeRead)
def lost_gradient(read: AttributeRead) -> Iterator[Report]:
    """Report `x.grad` of `x = torch.randn(n, requires_grad=True).cuda()`."""
    tensor = read.receiver
    if read.attr == "grad" and tensor.value.trait is Trait.MOVED_LEAF and tensor.device != CPU:
        yield Report(
            at=read.node,
            message=f"`{tensor}` was moved to an accelerator after it was made, so it is no leaf: "
            "its gradient goes to the original, and `.grad` is None",
            because=tensor.trace,
            fix=_ask_afterwards(tensor),
            help=f"move it first, then call `{tensor}.requires_grad_()`",
        )


_MAKES = ".__init__"


def _is_moved_again(write: AttributeWrite) -> bool:
    """Whether a parameter itself is moved, and put where it was: `self.w = self.w.to(device)`."""
    match write.value.node:
        case ir.Call(func=ir.Attribute(value=ir.Attribute(value=owner, attr=attr))):
            return attr == write.attr and key(owner) == key(write.receiver.node)
    return False


def _returned(moved: Operand) -> str:
    """ "`.cuda()` returns": the move, not what is moved."""
    match _move(moved) or moved.node:
        case ir.Call(func=ir.Attribute(attr=attr), args=args):
            return f"`.{attr}({', '.join(map(ir.render, args))})` returns"
    return "the move returns"


def _move(leaf: Operand) -> ir.Expr | None:
    """The move after which it is no leaf any more."""
    moves = (step.node for step in reversed(leaf.steps) if step.sort in MOVES)
    return next((node for node in moves if isinstance(node, ir.Expr)), None)


def _ask_afterwards(leaf: Operand) -> Change | None:
    """`torch.ones(3, requires_grad=True).cuda()` -> `torch.ones(3).cuda().requires_grad_()`."""
    for step in reversed(leaf.steps):
        match step.node:
            case ir.Call(func=ir.Attribute(value=ir.Call(args=args) as made)) as move if (
                step.sort in MOVES
            ):
                asked = [each for each in args if each.keyword == "requires_grad"]
                rewrites = without(made, asked[0]) if asked else ()
                after = (*rewrites, insert_after(move, ".requires_grad_()"))
                help = "call `.requires_grad_()` after the move"
                message = "Call `.requires_grad_()` after the move"
                return Change(message, after, Safety.UNSAFE, help=help) if rewrites else None
    return None


def _only_item(node: ir.Expr) -> ir.Expr:
    """The item of `[w]`, the whole of anything else."""
    match node:
        case ir.Display(items=(item,)) if not isinstance(item, ir.Starred):
            return item
    return node


def _move_inside(node: ir.Expr) -> Change | None:
    """`nn.Parameter(t).to(device)` -> `nn.Parameter(t.to(device))`."""
    match node:
        case ir.Call(func=ir.Attribute(value=ir.Call(args=(first, *_)) as made, attr=attr)):
            plain = all(_is_plain(argument) for argument in node.args)
            if not plain or first.star or first.keyword not in (None, "data"):
                return None
            given = [written(argument) for argument in node.args]
            inside = suffix(first.value, f".{attr}({', '.join(given)})")
            if inside and all(given):
                rewrites = (*inside, replace_tail(made, node, ""))
                return Change("Move the tensor inside", rewrites, Safety.UNSAFE, help=_FIRST)
    return None


def _is_plain(argument: ir.Argument) -> bool:
    """Whether its rendering is its source."""
    return argument.star == "" and isinstance(argument.value, _PLAIN)
