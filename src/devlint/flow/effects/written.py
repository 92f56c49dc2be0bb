"""Tensors that a function of torch is given to write into: `torch.add(a, b, out=c)`."""

from __future__ import annotations

from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.values import TENSORS, Value
from devlint.flow.effects.use import Use, flatten
from devlint.flow.operations import meet
from devlint.torchapi.effects import Effect

_COMPUTE = frozenset((Effect.JOIN, Effect.KEEP, Effect.INDEX, Effect.OVERLAY))


def into(use: Use, value: Value) -> Value:
    """What a call gives that computes `value`: the tensor that it is given as `out`, if it is. Each
    of these has to be where the operands are, also if it has no dimensions."""
    given = use.args.keyword("out")
    if given is None or use.row.effect not in _COMPUTE or not use.row.name.startswith("torch."):
        return value
    frame = use.frame
    inputs = [
        each
        for argument, taken in use.args.all
        if argument.keyword != "out"
        for each in flatten(frame, argument.value, taken)
        if each[1].kind in TENSORS and frame.place(each[1]) != UNKNOWN
    ]
    for out in flatten(frame, *given) if inputs else ():
        if out[1].kind in TENSORS:
            meet.meet(frame, use.node, use.row.name, [out, inputs[0]], inplace=True)
    return given[1] if given[1].kind in TENSORS else value
