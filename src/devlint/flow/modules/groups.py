"""What an optimizer of the program finds in itself: groups of parameters, and a state of each."""

from __future__ import annotations

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import Symbol
from devlint.flow.domain.paths import Ref
from devlint.flow.domain.state import Object, State
from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.frames.files import ClassInfo
from devlint.torchapi.spellings import is_optimizer_class

_PLACE = Symbol("self.param_groups", "the device of the parameters", described=True)


def fill(info: ClassInfo, state: State, this: Ref) -> None:
    """Give an optimizer of a class in sight what its base sets up: in `param_groups` tensors that
    are where the model is, and for each of them a dict, which is empty at first."""
    if not any(map(is_optimizer_class, info.library_bases())):
        return
    told = Step(Sort.HELD, info.node)
    parameter = Value(
        Kind.TENSOR, _PLACE, origin=Origin.FOLLOWS, grad=True, scalar=False, trace=told
    )
    held = Value(Kind.LIST, data=(info, "params"))
    group = Value(Kind.DICT, data=(info, "group"))
    groups = Value(Kind.LIST, data=(info, "param_groups"))
    kept = Value(Kind.DICT, data=(info, "state of one"))
    states = Value(Kind.DICT, data=(info, "state"))
    heap = state.heap
    heap[held.data] = Object(element=parameter)
    heap[group.data] = Object(entries={"params": held})
    heap[groups.data] = Object(element=group)
    heap[kept.data] = Object(items=())
    heap[states.data] = Object(element=kept)
    heap[this] = heap[this].with_entry("param_groups", groups).with_entry("state", states)
