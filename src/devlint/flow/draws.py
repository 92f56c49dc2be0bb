"""Random numbers and the generators that they are drawn from."""

from __future__ import annotations

from devlint import ir
from devlint.flow.facts import Draw, Operand
from devlint.flow.lattice import CPU, UNKNOWN, difference
from devlint.flow.use import Use
from devlint.flow.values import TENSORS, Kind, Value

_SHUFFLE = (2, "shuffle")


def draw(use: Use, made: Value) -> None:
    """A call draws random numbers: the fact where its generator is elsewhere than they are."""
    frame, given = use.frame, use.find(use.row.generator)
    generator: Operand | None = None
    if given is not None and given[1].kind is Kind.GENERATOR:
        generator = frame.operand(*given)
    elif not _takes_its_own(use):
        return
    tensors = made.kind in TENSORS
    if not tensors and not _knows_default(use):
        return
    device = frame.place(made) if tensors else frame.state.simplify(frame.state.default)
    source = CPU if generator is None else generator.device
    if UNKNOWN in (device, source) or difference(source, device) is None:
        return
    frame.record(
        Draw(
            use.node, frame.context(), use.row.name, generator, device, tensors,
            _target(use), _placed(use),
        )
    )  # fmt: skip


def _takes_its_own(use: Use) -> bool:
    """Whether a generator of the CPU is taken: none is given, and an order is drawn at all."""
    if not use.row.own_generator or use.args.unpacked or use.args.gives(use.row.generator):
        return False
    if use.row.kind != "loader":
        return True
    shuffle = use.find(_SHUFFLE)
    return shuffle is not None and shuffle[1].data is True


def _knows_default(use: Use) -> bool:
    """Whether an order will be drawn on the default device that is set here.

    A loader and a sampler draw later, when a `with` block may have ended. Who gives them a
    generator of an accelerator has most likely set the default device, in another file where not in
    this one: that it is the CPU is known only where the program can be seen from its start.
    """
    frames = list(use.frame.chain())
    if use.row.kind != "dataset" and any(frame.default_is_lent for frame in frames):
        return False
    return use.frame.state.default != CPU or frames[-1].function is None


def _target(use: Use) -> Operand | None:
    """The tensor that is filled or followed."""
    row = use.row
    parameter = row.like or row.of
    given = use.find(parameter)
    if given is None or given[1].kind not in TENSORS:
        return None
    return use.frame.operand(*given)


def _placed(use: Use) -> ir.Argument | None:
    """The argument that says where the numbers are to be."""
    for argument, value in use.args.all:
        if argument.keyword == "device" and "device" in use.row.device:
            return None if value.kind is Kind.NONE else argument
    return None
