"""Calls that give the tensor they are given, or one beside it: it stays where it is."""

from __future__ import annotations

from devlint.flow.domain.lattice import UNKNOWN
from devlint.flow.domain.paths import Path
from devlint.flow.domain.traits import REGISTERED, Fixed, Trait
from devlint.flow.domain.values import NOTHING, TENSORS, Kind, Value, as_loaded, with_gradient
from devlint.flow.effects import pinning
from devlint.flow.effects.creation import tensor_like
from devlint.flow.effects.use import Use, parts, plain, result_kind, trait_of
from devlint.flow.frames.arguments import Given
from devlint.flow.operations import arrivals, batches
from devlint.flow.operations.dimensions import dimensions
from devlint.torchapi.effects import Dims, Row

_ITSELF = frozenset(
    "requires_grad_ detach_ share_memory_ contiguous coalesce resolve_conj resolve_neg type "
    "float double half bfloat16 int long short char byte bool cfloat cdouble chalf".split()
)
"""Methods that give the tensor itself, always or where it is as it is asked to be."""
_ASKS_FOR_GRADIENT = ("torch.Tensor.requires_grad_", "torch.Tensor.retain_grad")
_WITHOUT_GRADIENT = ("detach", "detach_")


def keep(use: Use) -> Value:
    """What a call gives that leaves a value where it is: that value, or what is made of it."""
    row = use.row
    of = use.args.find(row.of)
    if of is None:
        return plain(row)
    value, kind = of[1], result_kind(row)
    if row.managed:
        return NOTHING
    if kind is Kind.TENSOR and row.name.startswith("torch.") and use.args.receiver is None:
        value = as_loaded(value)
    if value.kind is Kind.MODULE or (kind is Kind.MODULE and value.kind is Kind.UNKNOWN):
        wrapped = isinstance(value.trait, Fixed) and use.args.receiver is None
        return value.but(trait=None) if wrapped else value  # a wrapper has methods of its own
    if value.kind in TENSORS:
        if kind is Kind.BATCH:
            return _of_tensor(use, of).but(kind=kind)  # a sequence that is packed
        return _of_tensor(use, (of[0], value)) if kind is Kind.TENSOR else plain(row)
    if trait_of(row) is Trait.PARAMETER:
        return Value(Kind.TENSOR, UNKNOWN, grad=True, trait=Trait.PARAMETER)
    if value.kind is Kind.UNKNOWN:
        is_argument = kind is Kind.TENSOR and isinstance(value.data, Path)
        return _of_argument(use) if is_argument else NOTHING
    return value if kind in (Kind.TENSOR, value.kind) else plain(row)


def _of_tensor(use: Use, of: Given) -> Value:
    row, value, name = use.row, of[1], use.row.name.rpartition(".")[2]
    if use.args.receiver is None:
        batches.note_tensor(use.frame, *of)
    if row.name in _ASKS_FOR_GRADIENT and value.kind is Kind.TENSOR:
        return _with_gradient(use, value)
    grad = row.grad or (value.grad and name not in _WITHOUT_GRADIENT)
    like = value.view if arrivals.looks_at_no_values(row) else value.alike
    kept = like(scalar=dimensions(use.args, row, value), grad=grad)
    trait = trait_of(row) or _registered_as(row, value)
    if trait is None and value.trait is Trait.ROWS and row.dims is Dims.SAME:
        trait = value.trait
    kept = kept.but(trait=trait) if trait else kept
    if row.name == "torch.Tensor.pin_memory":
        return pinning.pinned(use.frame, kept, use.node)
    return parts(use, kept)


def _of_argument(use: Use) -> Value:
    """An argument that the call shows to be a tensor."""
    if use.row.name.startswith("builtins."):
        return NOTHING  # Python's `abs` and `round` take numbers as well
    kept = tensor_like(use, use.row.of).but(scalar=dimensions(use.args, use.row))
    return parts(use, kept)


def _registered_as(row: Row, value: Value) -> Trait | Fixed | None:
    """`nn.Parameter(x).requires_grad_(False)` is the parameter still."""
    itself = row.inplace or row.name.rpartition(".")[2] in _ITSELF
    return value.trait if itself and value.trait in REGISTERED else None


def _with_gradient(use: Use, value: Value) -> Value:
    """`x.requires_grad_()`, and `x.retain_grad()` of what is no leaf: the tensor itself."""
    refused = any(given.data is False for _, given in use.args.all)
    asked = value.but(grad=False) if refused else with_gradient(value)
    if use.frame.discarded is use.node:
        use.frame.state.replace(value, asked)
    return asked
