"""Objects that somebody else made, of a class that their annotation names.

`def score(graph: Graph, x)`: whoever made the graph called its constructor, and a tensor that this
makes for itself is on the host, as long as nothing moves what such an object holds. What a
dataclass says to be a tensor is one, wherever it was put.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.lattice import UNKNOWN, only_host
from devlint.flow.domain.paths import Path, given_tensor, path_value
from devlint.flow.domain.state import Heap, Object, State
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import MADE, Kind, Origin, Value
from devlint.flow.facts import Fact, Operand
from devlint.flow.facts.meetings import changed
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.world import World
from devlint.flow.syntax.scan import MOVES
from devlint.model import ir


@dataclass(frozen=True, slots=True)
class Typed(Path):
    """An object of a class of the project, known by its annotation; None: of one of several."""

    info: ClassInfo | None = None


def typed(value: Value, infos: Sequence[ClassInfo | None]) -> Value:
    """A value of which only the identity is known, with the class that its annotation names; or
    with the knowledge that it is of one of several."""
    path = value.data
    if value.kind is not Kind.UNKNOWN or type(path) is not Path or not infos:
        return value
    if not all(info is not None and _is_plain(info) for info in infos):
        return value
    return value.but(data=Typed(path.text, path.given, infos[0] if len(infos) == 1 else None))


def is_left_to_base(value: Value, method: str) -> bool:
    """Whether it is an object, by its annotation, of one class of the project that doesn't define a
    method: a base that isn't seen does."""
    info = value.data.info if isinstance(value.data, Typed) else None
    return value.kind is Kind.UNKNOWN and info is not None and info.method(method) is None


def _is_plain(info: ClassInfo) -> bool:
    """Whether what is of a class is neither a module nor a tensor."""
    return not info.is_module and not any(name.endswith(".Tensor") for name in info.library_bases())


def held(frame: Frame, path: Typed, node: ir.Attribute) -> Value | None:
    """A tensor that the constructor of an object made for itself, where nothing has moved it, or
    one that it was given."""
    info = path.info
    if info is None or node.attr in frame.world.of_file.written:
        return None
    if info.tensors and node.attr in info.tensors:
        return given_tensor(Path(f"{path.text}.{node.attr}", path.given), Sort.ANNOTATION, node)
    if info.made is None:
        info.made = {}  # while its own constructor asks others of its class
        info.made = _made(frame, info)
    made = info.made.get(node.attr)
    told = Step(Sort.CONSTRUCTOR, node, name=info.node.name)
    return None if made is None else made.but(trace=told)


def without_rewritten(world: World, facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts, where nothing is known of what a constructor made if that was written from outside
    of the object since: by a function that ran after the one that uses it, say."""

    lost: list[Operand] = []

    def known(operand: Operand) -> Operand:
        if not any(map(rewritten, operand.steps)):
            return operand
        lost.append(operand)
        return replace(operand, device=UNKNOWN)

    def rewritten(step: Step) -> bool:
        node = step.node if step.sort is Sort.CONSTRUCTOR else None
        return isinstance(node, ir.Attribute) and node.attr in world.of_file.written

    for fact in facts:
        lost.clear()
        left = changed(fact, known) if world.of_file.written else fact
        yield left if lost else fact


def _made(frame: Frame, info: ClassInfo) -> dict[str, Value]:
    """The tensors that a constructor makes on the host, by the attributes that hold them."""
    init = info.reached("__init__")
    if init is None or info.is_open or any(info.method(name) for name in MOVES):
        return {}
    ref = (info, "made")
    this = Value(Kind.INSTANCE, data=ref, trait=Trait.SELF)
    state = State({}, Heap({ref: Object(source=info)}))
    alone = Frame(frame.world, info.file, state, of_role=info.role, recording=False)
    taken = (p.name for p in init.node.params[1:] if not p.kind.startswith("*"))
    given = {name: path_value(name) for name in taken}
    with frame.world.uncounted():
        frame.world.invoke(alone, ir.Name(info.node.name), init, [this], given)
    stored_later = info.stored_later()
    return {
        name: value.but(origin=Origin.NONE, data=None, trait=None)
        for name, value in alone.state.heap[ref].entries.items()
        if name not in stored_later and _is_made_on_host(alone, value)
    }


def _is_made_on_host(frame: Frame, value: Value) -> bool:
    fresh = value.kind is Kind.TENSOR and value.origin in MADE
    return fresh and value.scalar is False and only_host(frame.place(value))
