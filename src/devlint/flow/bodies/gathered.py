"""Lists that a module keeps and its methods fill with what they are given: batch after batch."""

from __future__ import annotations

from collections.abc import Iterable

from devlint.flow.bodies.functions import run_alone
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import THE_MODULE, Symbol
from devlint.flow.domain.state import Object
from devlint.flow.domain.values import NOTHING, Kind, Origin, Value
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.model import ir


def gather(info: ClassInfo, start: Frame, silent: Frame, this: Value) -> None:
    """What such a list holds in the other methods: tensors that follow the module, as long as all
    that any method adds to it does."""
    heap = start.state.heap
    empty = {
        name: value.data
        for name, value in heap[this.data].entries.items()
        if value.kind is Kind.LIST and _is_empty(heap.get(value.data))
    }
    added: dict[str, list[Value]] = {}
    for method in _filling(info, empty.keys()) if empty else ():
        ended = run_alone(info.closure_of(method), silent, this).state.heap
        for name in info.file.scan(method).self_fills & empty.keys():
            found = ended.get(empty[name])
            added.setdefault(name, []).append(NOTHING if found is None else found.elements())
    for name, values in added.items():
        if all(map(_follows, values)):
            told = Step(Sort.ITERATION, info.node, values[0].trace)
            element = Value(Kind.TENSOR, THE_MODULE, origin=Origin.FOLLOWS, trace=told)
            heap[empty[name]] = Object(element=element)


def _is_empty(found: Object | None) -> bool:
    return found is not None and found.items == () and not found.entries


def _filling(info: ClassInfo, names: Iterable[str]) -> list[ir.Function]:
    scan = info.file.scan
    return [m for m in info.methods.values() if not scan(m).self_fills.isdisjoint(names)]


def _follows(value: Value) -> bool:
    return (
        value.kind is Kind.TENSOR
        and value.origin in (Origin.FOLLOWS, Origin.INPUT)
        and isinstance(value.device, Symbol)
    )
