"""Random numbers and the generators that they are drawn from."""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.differences import difference
from devlint.flow.domain.lattice import CPU, UNKNOWN
from devlint.flow.domain.values import TENSORS, Kind, Origin, Value
from devlint.flow.effects.use import Use
from devlint.flow.facts import Draw, Operand
from devlint.flow.frames.arguments import Given
from devlint.model import ir


def draw(use: Use, made: Value) -> Value:
    """A call draws random numbers: the fact where its generator is elsewhere than they are. What a
    generator of the CPU draws is there on purpose, and has to be: no `device=` would do."""
    given = use.args.find(use.row.generator)
    if given is not None and given[1].kind is Kind.GENERATOR and _needs_host(use, given[1], made):
        drawn = made.but(origin=Origin.MOVED, trace=Step(Sort.HOST_GENERATOR, use.node))
        receiver = use.args.receiver
        if receiver is not None and isinstance(receiver[0], ir.Name):  # it is filled in place
            use.frame.state.env[receiver[0].id] = drawn
        return drawn
    _note(use, given, made)
    return made


def _needs_host(use: Use, generator: Value, made: Value) -> bool:
    fresh = made.kind is Kind.TENSOR and made.origin is Origin.DEFAULT
    return fresh and use.frame.place(generator) == use.frame.place(made) == CPU


def _note(use: Use, given: Given | None, made: Value) -> None:
    frame = use.frame
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
    return use.args.value((2, "shuffle")).data is True


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
    given = use.args.find(row.like or row.of)
    return None if given is None or given[1].kind not in TENSORS else use.frame.operand(*given)


def _placed(use: Use) -> ir.Argument | None:
    """The argument that says where the numbers are to be."""
    for argument, value in use.args.all:
        if argument.keyword == "device" and "device" in use.row.device:
            return None if value.kind is Kind.NONE else argument
    return None
