"""DEV301: something that holds tensors, or is none, is moved as if it were one."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import Kind, Move, Operand, Origin, Trait
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, insert_after, insert_before, replace_tail
from devlint.model.trees import written
from devlint.rules import rule

_METHODS = frozenset({"to", "cpu", "cuda", "xpu", "hpu", "npu", "mtia"})
_HOLDING = {
    Kind.LIST: ("[item{tail} for item in ", "]"),
    Kind.TUPLE: ("tuple(item{tail} for item in ", ")"),
    Kind.SET: ("{{item{tail} for item in ", "}}"),
    Kind.DICT: ("{{key: item{tail} for key, item in ", ".items()}}"),
}
"""What stands around the container once each item of it is moved."""
_REMEDIES = {
    Kind.NDARRAY: "make a tensor of it first, with `torch.from_numpy`",
    Kind.STRING: "a string stays on the CPU: turn it into a tensor of numbers first",
    Kind.NUMBER: "make a tensor of it first, with `torch.tensor`",
    Kind.LOADER: "move each batch inside the loop",
    Kind.OPTIMIZER: "move the model, then build the optimizer: it makes its state where the "
    "parameters are",
    Kind.GENERATOR: "choose the device when it is made: `torch.Generator(device=...)`",
    Kind.DTYPE: "move the tensor that has this dtype",
    Kind.DEVICE: "move the tensor that is there",
}
_FIRM_DATASETS = frozenset({"TensorDataset", "Subset", "ConcatDataset"})
"""Data sets of torch; one of somebody's own may well have such a method."""


@rule("move-on-container", on=Move)
def move_on_container(move: Move) -> Iterator[Report]:
    receiver, method = move.receiver, move.method
    kind = receiver.kind
    name = _type_of(receiver)
    if (
        method not in _METHODS
        or receiver.value.trait is Trait.ANNOTATED
        or receiver.origin is Origin.INPUT
    ):
        return  # an annotation may be wrong, and the move tells that it is
    if kind is Kind.DATASET and name in _FIRM_DATASETS:
        remedy = "move each batch inside the loop"
    elif kind in _HOLDING:
        arguments = ", ".join(ir.render(argument) for argument, _ in move.arguments)
        before, after = _around(move, arguments)
        remedy = f"move what it holds: `{before}{receiver}{after}`"
    elif kind in _REMEDIES:
        remedy = _REMEDIES[kind]
    else:
        return
    yield Report(
        at=move.node,
        message=f"`{receiver}` has no `.{method}()`: its type is {name}",
        because=receiver.trace,
        fix=None if move.discarded else _fix(move),
        help=remedy,
    )


_MADE = {Kind.NDARRAY: "torch.from_numpy(", Kind.NUMBER: "torch.tensor("}


def _type_of(receiver: Operand) -> str:
    if receiver.kind is Kind.STRING:
        return "str"
    if receiver.kind is Kind.NUMBER and isinstance(receiver.constant, (int, float, complex)):
        return type(receiver.constant).__name__
    return receiver.type_name.rpartition(".")[2] or receiver.kind.name.lower()


def _fix(move: Move) -> Change | None:
    """Move what it holds, or the tensor that is made of it."""
    receiver, call = move.receiver.node, move.node
    if maker := _MADE.get(move.receiver.kind):
        rewrites = (insert_before(receiver, maker), insert_after(receiver, ")"))
        return Change("Make a tensor of it first", rewrites, Safety.UNSAFE, names=("torch",))
    arguments = [written(argument) for argument, _ in move.arguments]
    if move.receiver.kind not in _HOLDING or not all(arguments):
        return None
    before, after = _around(move, ", ".join(arguments))
    rewrites = (insert_before(receiver, before), replace_tail(receiver, call, after))
    return Change("Move what it holds", rewrites, Safety.UNSAFE)


def _around(move: Move, arguments: str) -> tuple[str, str]:
    """What stands before the container and behind it."""
    tail = f".{move.method}({arguments})"
    before, after = _HOLDING[move.receiver.kind]
    return before.format(tail=tail), after.format()
