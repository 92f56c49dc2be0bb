"""`x.get_device()` of something unknown: -1 for a CPU tensor, but no number where `x` is a module
or an object with a method of that name."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from devlint.flow.domain.paths import Path
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.walk import nodes_of
from devlint.model import ir
from devlint.model.trees import key, last_name
from devlint.policy import means

_OF_TENSORS = frozenset(
    "backward shape size dim ndim numel dtype detach view unsqueeze squeeze permute transpose "
    "contiguous expand item is_cuda requires_grad new_zeros new_ones masked_fill type_as".split()
)
_OF_MODULES = frozenset(
    "parameters named_parameters children modules eval train state_dict load_state_dict "
    "zero_grad generate forward".split()
)


def of_unknown(frame: Frame, func: ir.Attribute, base: Value) -> Value:
    """What `base.get_device()` gives: the index of a tensor, as far as the function tells that
    `base` is one. Arguments and attributes are taken for tensors until it tells otherwise."""
    asked = set(_asked(frame, key(func.value)))
    if asked & _OF_MODULES or means("no-tensor", last_name(func.value), "receiver"):
        return NOTHING
    if isinstance(base.data, Path) or asked & _OF_TENSORS:
        return Value(Kind.NUMBER, trait=Trait.INDEX_OF_TENSOR)
    return NOTHING


def _asked(frame: Frame, receiver: Hashable) -> Iterator[str]:
    """What else the function asks of what is spelled so; a call of it is its `forward`."""
    for node in nodes_of((frame.function or frame.file).body):
        if isinstance(node, ir.Attribute) and key(node.value) == receiver:
            yield node.attr
        elif isinstance(node, ir.Call) and key(node.func) == receiver:
            yield "forward"
