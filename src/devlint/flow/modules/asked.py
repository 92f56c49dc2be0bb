"""Conditions on what a constructor is given, by the name that other methods ask for it.

`self.learned = learned` and `if learned:` in a constructor: what that decides hangs on
`self.learned` in every other method.
"""

from __future__ import annotations

from collections import Counter

from devlint.flow.domain.keys import renamed
from devlint.flow.domain.lattice import Guarded
from devlint.flow.domain.state import Heap, Object
from devlint.flow.frames.files import ClassInfo
from devlint.flow.syntax.walk import descendants, first_parameter, self_attribute
from devlint.model import ir


def as_methods_ask(info: ClassInfo, init: ir.Function, heap: Heap) -> None:
    """Let what hangs on an argument that the constructor keeps hang on the attribute instead."""
    hanging = [ref for ref in heap.written if _hangs(heap[ref])]
    kept = kept_arguments(info, init) if hanging else {}
    for ref in hanging if kept else ():
        heap[ref] = heap[ref].rekeyed(lambda key: renamed(key, kept))


def _hangs(found: Object) -> bool:
    places = (found.device, *(value.device for value in found.inside))
    return any(isinstance(place, Guarded) for place in places)


def kept_arguments(info: ClassInfo, init: ir.Function) -> dict[str, str]:
    """The arguments that it stores as they are, and that nothing changes later; each with the
    attribute."""
    this, taken = first_parameter(init), {parameter.name for parameter in init.params[1:]}
    assigned = info.file.scan(init).assigned
    stored: Counter[str] = Counter()
    kept: dict[str, str] = {}
    for node in descendants(init):
        match node:
            case ir.Assign(targets=targets, value=value):
                attributes = [self_attribute(target, this) for target in targets]
                stored.update(attributes)
                if isinstance(value, ir.Name) and value.id in taken and not assigned[value.id]:
                    kept.setdefault(value.id, attributes[0])
            case ir.Augment(target=target):
                stored[self_attribute(target, this)] += 1
    for method, scan in info.scans():
        stored.update(scan.self_stores if method is not init else ())
    return {name: f"{this}.{attr}" for name, attr in kept.items() if attr and stored[attr] == 1}
