"""Graphs of PyTorch Geometric: their data sets, what moves them, and loaders of parts of them."""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import CPU, UNKNOWN, Device
from devlint.flow.domain.state import Object
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, TENSORS, Kind, Origin, Value
from devlint.flow.frames.arguments import Arguments
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.torchapi.effects import Row

_GRAPH = "torch_geometric.data.Data"
_TENSORS = frozenset(
    ("x", "y", "z", "pos", "edge_index", "edge_attr", "edge_weight", "train_mask", "val_mask",
     "test_mask")
)  # fmt: skip
"""What of a graph is a tensor with dimensions, by PyTorch Geometric's own names."""
_TRANSFORMS = ("transform", "pre_transform")


def is_graph(frame: Frame, value: Value) -> bool:
    found = frame.object(value)
    return value.kind is Kind.ENCODING and found is not None and found.source == _GRAPH


def graph(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`Data(x=x, edge_index=edges)` is where its tensors are, if that is one place."""
    tensors = [value for _, value in args.all if value.kind in TENSORS]
    places = {frame.place(value) for value in tensors}
    known = len(places) == 1 and len(tensors) == args.count
    device = places.pop() if known else UNKNOWN
    return _made(frame, node, device, tensors[0].trace if known else None)


def transform(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """`T.Compose([T.NormalizeFeatures(), T.ToDevice(device)])`: one of them moves graphs."""
    if row.name.endswith(".ToDevice"):
        return NOTHING
    if row.name.endswith(".Compose"):
        given = args.find((0, "transforms"))
        found = None if given is None else frame.object(given[1])
        if found is None or any(
            part.trait is not Trait.MOVES_NOTHING for part in found.items or (NOTHING,)
        ):
            return NOTHING
    return Value(Kind.NAMESPACE, trait=Trait.MOVES_NOTHING)


def dataset(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """A data set reads its graphs on the host; a transform may put them elsewhere."""
    host = not args.unpacked and all(_stays(args, name) for name in _TRANSFORMS)
    told = Step(Sort.HOST_DATA_SET, node)
    made = Object(device=CPU if host else UNKNOWN, source=row.name, trace=told)
    return Value(Kind.DATASET, data=frame.allocate(node, made))


def _stays(args: Arguments, name: str) -> bool:
    """Whether no transform is given, or one that leaves graphs where they are."""
    given = args.keyword(name)
    return given is None or given[1].kind is Kind.NONE or given[1].trait is Trait.MOVES_NOTHING


def item(frame: Frame, node: ir.Subscript, found: Object | None) -> Value:
    """`dataset[0]`, a graph."""
    if found is None or not isinstance(node.index, ir.Constant):
        return NOTHING
    told = Step(Sort.GRAPH, node)
    return _made(frame, node, found.device, told if found.device == CPU else None)


def _made(frame: Frame, node: ir.Node, device: Device, told: Step | None) -> Value:
    made = Object(device=device, source=_GRAPH, trace=told)
    return Value(Kind.ENCODING, data=frame.allocate(node, made), origin=Origin.LOADED, trace=told)


def attribute(frame: Frame, base: Value, found: Object, attr: str) -> Value:
    """`data.x`: what was stored there since the graph moved, or a tensor where the graph is."""
    if attr in found.entries or attr not in _TENSORS:
        return found.entries.get(attr, NOTHING)
    return Value(
        Kind.TENSOR, frame.place(base), origin=base.origin, scalar=False, trace=found.trace
    )


def loader(frame: Frame, node: ir.Call, row: Row, args: Arguments) -> Value:
    """A loader of parts of one graph picks indices on the host, and its process then takes what
    they pick from where the graph is. So what it yields is there in part, and nothing of it is
    pinned or made in a worker."""
    given = args.find(row.data)
    on_host = given is not None and is_graph(frame, given[1]) and frame.place(given[1]) == CPU
    for name in ("transform", "transform_sampler_output"):
        on_host = on_host and not args.hides((name,)) and _stays(args, name)
    told = Step(Sort.HOST_LOADER, node)
    made = Object(device=CPU if on_host else UNKNOWN, source=row.name, trace=told)
    return Value(Kind.LOADER, data=frame.allocate(node, made))
