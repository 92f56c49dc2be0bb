"""Functions that call what they are given: `map` and `checkpoint` now, `functools.partial` later;
those that run a module on an example; and functions of which a condition chooses one."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import reduce

from devlint.flow.domain.lattice import only_host
from devlint.flow.domain.state import Object
from devlint.flow.domain.state_joins import End, join_ends
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, OneOf, Value
from devlint.flow.frames.arguments import Arguments, Given, Partial, fits
from devlint.flow.frames.files import Bound, ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import followed
from devlint.flow.operations.containers import lazily
from devlint.flow.operations.unpacking import element_of
from devlint.model import ir
from devlint.torchapi.effects import Arg


def partial(args: Arguments) -> Value:
    """`partial(torch.zeros, device=device)`"""
    given = args.positional()
    if args.unpacked or not given or given[0][1].kind not in (Kind.LIBRARY, Kind.FUNCTION):
        return NOTHING
    node, function = given[0]
    return Value(Kind.UNKNOWN, data=Partial(node, function, Arguments(args.all[1:])))


def complete(frame: Frame, node: ir.Call, partial: Partial, args: Arguments) -> Value:
    """Call its function with all arguments: later keywords replace earlier ones."""
    named = args.keywords()
    kept = tuple(pair for pair in partial.args.all if pair[0].keyword not in named)
    both = replace(args, all=(*kept, *args.all))
    return _call(frame, node, (partial.node, partial.function), both)


def _call(frame: Frame, node: ir.Call, function: Given, args: Arguments) -> Value:
    """Nothing is told of a library's function that is called so: rules would look for its name and
    its arguments in `node`."""
    data = function[1].data.closure if isinstance(function[1].data, Bound) else function[1].data
    seen = isinstance(data, (Closure, ClassInfo)) or may_be_module(function[1])
    with nullcontext() if seen else frame.silently():
        return frame.world.call(frame, node, *function, args)


def one_of(
    frame: Frame, node: ir.Call, func: ir.Expr, value: Value, several: OneOf, args: Arguments
) -> Value:
    """Call each of several functions, on a path of its own. What the arguments don't fit isn't the
    one that is called here. Of several objects only one is there, so its method has been called.
    """
    before, site = frame.state, frame.site
    ends = list[End]()
    each = [(followed(frame, value.but(data=data), func), known) for data, known in several.options]
    options = [option for option in each if _takes(option[0].data, args)] or each
    for called, settled in options:
        frame.state = frame.fork(before)
        frame.state.known.update(dict(settled))
        if isinstance(called.data, ClassInfo):  # an object of its own
            frame.site = (*site, called.data.node)
        ends.append((frame.world.call(frame, node, func, called, args), frame.state))
    frame.site = site
    found, frame.state = reduce(join_ends, ends)
    frame.state.known = before.known.copy()
    for (called, _), (_, end) in zip(options, ends, strict=True):
        if isinstance(called.data, Bound) and called.data.receiver.data in end.heap:
            frame.state.heap[called.data.receiver.data] = end.heap[called.data.receiver.data]
    return found


def _takes(data: object, args: Arguments) -> bool:
    """Whether a function of the project takes these arguments; any other may."""
    return not isinstance(data, Closure) or data.owner is not None or fits(data.node.params, args)


def mapped(frame: Frame, node: ir.Call, args: Arguments) -> Value:
    """`map(f, xs)` yields what `f` gives of each element, one by one where they are known."""
    given = args.positional()
    if args.unpacked or len(given) < 2:
        return NOTHING
    function, *sources = given
    known = frame.object(sources[0][1]) if len(sources) == 1 else None
    items = None if known is None else known.items
    if items is None:
        rows = [[element_of(frame, value, source) for source, value in sources]]
    else:
        rows = [[item] for item in items]
    results = []
    for at, row in enumerate(rows):
        pairs = zip(sources, row, strict=True)
        passed = tuple((ir.Argument(source), each) for (source, _), each in pairs)
        result = _call(frame, node, function, Arguments(passed))
        results.append(_told_apart(frame, node, result, at))
    if not results or any(result is NOTHING for result in results):
        return NOTHING
    found = Object(element=results[0]) if items is None else Object(items=tuple(results))
    return lazily(frame, node, found)


def reduced(frame: Frame, node: ir.Call, args: Arguments) -> Value:
    """`reduce(f, xs)` and `reduce(f, xs, start)` are what `f` gives of two of these."""
    given = args.positional()
    if args.unpacked or len(given) < 2:
        return NOTHING
    function, (source, values), *start = given
    each = element_of(frame, values, source)
    first = start[0] if start else (source, each)
    passed = ((ir.Argument(node), value) for node, value in (first, (source, each)))
    return _call(frame, node, function, Arguments(tuple(passed)))


def _told_apart(frame: Frame, node: ir.Call, value: Value, at: int) -> Value:
    """What a library's function has made at this node, where the next call makes something else,
    and so does `map` itself."""
    found = frame.object(value) if value.data == (node, frame.here) else None
    if found is None:
        return value
    return value.but(data=frame.allocate((node, at), found))


_OF_CHECKPOINT = frozenset(
    "use_reentrant context_fn determinism_check debug early_stop preserve_rng_state".split()
)
"""The keywords that `checkpoint` keeps for itself."""


def checkpointed(frame: Frame, node: ir.Call, args: Arguments) -> Value:
    """`checkpoint(f, *xs)` gives what `f` gives of the rest."""
    function = args.find((0, "function"))
    if function is None:
        return NOTHING
    rest = tuple(
        (argument, value)
        for argument, value in args.all
        if argument.value is not function[0] and argument.keyword not in _OF_CHECKPOINT
    )
    return _call(frame, node, function, Arguments(rest))


EXAMPLES: dict[str, tuple[Arg, Arg]] = {
    "torch.jit.trace": ("func", "example_inputs"),
    "torch.onnx.export": ("model", "args"),
    "torch.export.export": ("mod", "args"),
    "thop.profile": ("model", "inputs"),
    "fvcore.nn.FlopCountAnalysis": ("model", "inputs"),
}
"""What runs a module on inputs: the names of the two, which come first."""


def run_on_example(frame: Frame, node: ir.Call, args: Arguments, names: tuple[Arg, Arg]) -> None:
    """`torch.jit.trace(model, example)` calls the model with a tensor, or a tuple of them."""
    module, example = args.find((0, names[0])), args.find((1, names[1]))
    if module is None or example is None or not may_be_module(module[1]):
        return
    given = [example]
    if isinstance(example[0], ir.Display) and example[1].kind.is_container:
        found = frame.object(example[1])
        items = None if found is None else found.items
        if items is None or len(items) != len(example[0].items):
            return
        given = list(zip(example[0].items, items, strict=True))
    passed = tuple((ir.Argument(source), value) for source, value in given)
    _call(frame, node, module, Arguments(passed))


def may_be_module(value: Value) -> bool:
    """Whether a call of it is that of a module, or of what is moved as one is."""
    if value.trait is Trait.LOADED:  # on the host others may move it, who knows where
        return not only_host(value.device)
    return value.kind in (Kind.MODULE, Kind.PLACED) or value.trait is Trait.IF_MODULE
