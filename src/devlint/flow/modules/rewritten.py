"""What the constructor put into an object may be gone: containers that its methods fill anew or
whose modules they move, tensors that functions take elsewhere, and what one test changes for
another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from devlint.flow.domain.derivation import Sort
from devlint.flow.domain.keys import stands_in
from devlint.flow.domain.lattice import UNKNOWN, conditions, only_host
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import MADE, NOTHING, Kind, Origin, Value
from devlint.flow.facts import Role
from devlint.flow.frames.files import CONSTRUCTORS, ClassInfo, File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import name_in
from devlint.flow.frames.world import World
from devlint.flow.modules.placement import is_registered, place_module
from devlint.flow.syntax.walk import (
    first_parameter,
    names_in,
    nodes_of,
    self_attribute,
    targets,
)
from devlint.model import ir
from devlint.model.trees import called, descendants, last_name
from devlint.policy import means


def forget_rewritten(
    info: ClassInfo, frame: Frame, this: Value, seen: Iterable[ir.Function]
) -> None:
    """Forget what containers of tensors held, and those of nothing, where a method stores another
    one under that name, or puts something else into it (`self.table[key] = row`); and numbers, to
    which methods may add tensors (`self.total = self.total + loss`).

    `seen` are the methods that have been run already, and whose containers are known.
    """
    found = frame.state.heap[this.data]
    known = set(seen)
    continued = info.once(_continued, info)
    stored = {
        name
        for method, scan in info.scans()
        if method.name not in CONSTRUCTORS
        for name in scan.self_items | (set() if method in known else scan.self_stores - continued)
        if name in found.entries and _is_to_be_filled(frame, found.entries[name])
    } | _grown(info, found.entries, known)
    if stored:
        frame.state.heap[this.data] = found.without(stored)


def _grown(info: ClassInfo, entries: Mapping[str, Value], known: set[ir.Function]) -> set[str]:
    """The numbers that methods store anew, besides those that are known."""
    others = (s for m, s in info.scans() if m.name not in CONSTRUCTORS and m not in known)
    stored = {name for scan in others for name in scan.self_stores}
    return {name for name in stored & entries.keys() if entries[name].kind is Kind.NUMBER}


def _continued(info: ClassInfo) -> frozenset[str]:
    """The attributes that each method but the constructor stores by what they were before, as
    `out, self.state = self.rnn(x, self.state)` does: the first of them has the constructor's."""
    continued, anew = set[str](), set[str]()
    for _, method in info.all_methods():
        this = first_parameter(method)
        for node in nodes_of(method.body) if method.name != "__init__" else ():
            stored = {self_attribute(each, this) for each in targets(node)} - {""}
            if stored:
                read = descendants(node.value) if isinstance(node, ir.Assign) and node.value else ()
                before = {self_attribute(each, this) for each in read}
                continued |= stored & before
                anew |= stored - before
    return frozenset(continued - anew)


def _is_to_be_filled(frame: Frame, value: Value) -> bool:
    """Whether it is a container of tensors, or of places left empty for them (`[None] * n`);
    parameters are left behind, whichever they are."""
    found = frame.object(value) if value.kind.is_container else None
    inside = NOTHING if found is None else found.elements()
    return inside.kind is Kind.NONE or (
        inside.kind is Kind.TENSOR and inside.trait is not Trait.PARAMETER
    )


def forget_moved(info: ClassInfo, frame: Frame, this: Value) -> None:
    """Forget where the modules of a container are, where a method moves them one by one."""
    for name, value in frame.state.heap[this.data].entries.items():
        found = frame.object(value) if value.kind.is_container else None
        if found is not None and any(each.kind is Kind.MODULE for each in found.inside):
            if is_moved_by_hand(frame.world, info, name):
                place_module(frame, value, UNKNOWN)


def is_moved_by_hand(world: World, info: ClassInfo, name: str) -> bool:
    """Whether a method moves what is inside: `self.kept[0].to(x)`, also by another name. Who does
    so knows that it isn't registered, and most likely wants it out of the state of the module."""
    return any(
        _moves_what_is_in(each.file, method.params[0].name, world.descendants(method), name)
        for each, method in info.all_methods()
        if method.params
    )


def _moves_what_is_in(file: File, this: str, inside: list[ir.Node], name: str) -> bool:
    def is_element(node: ir.Expr | None) -> bool:
        return isinstance(node, ir.Subscript) and self_attribute(node.value, this) == name

    taken: set[str] = set()
    for node in inside:
        match node:
            case ir.Assign(targets=(ir.Name(id=local),), value=value) if is_element(value):
                taken.add(local)
            case ir.For(target=target, iter=kept) if any(
                self_attribute(each, this) == name for each in _gone_over(file, kept)
            ):
                taken.update(names_in(target))
    for node in inside:
        match node:
            case ir.Call(func=ir.Attribute(value=moved, attr="to" | "cuda" | "cpu")):
                if is_element(moved) or (isinstance(moved, ir.Name) and moved.id in taken):
                    return True
    return False


def _gone_over(file: File, kept: ir.Expr) -> tuple[ir.Expr, ...]:
    """What a loop goes over: `self.parts` of `self.parts.items()`, of `enumerate(self.parts)`."""
    match kept:
        case ir.Call(func=ir.Attribute(value=whole, attr="items" | "values"), args=()):
            return (whole,)
        case ir.Call(func=func, args=args) if name_in(file, func) in _GO_OVER:
            return tuple(whole for each in args for whole in _gone_over(file, each.value))
    return (kept,)


_GO_OVER = frozenset(("builtins.enumerate", "builtins.zip", "builtins.reversed"))


def is_of_one_test(info: ClassInfo, method: ir.Function) -> bool:
    """Whether a method is a test, or a helper of tests: of a class that pytest or unittest makes
    anew for each test, in an order that nobody knows. What sets up runs before every test."""
    if info.role is not Role.TEST or info.is_module or info.method("__init__") is not None:
        return False
    if info.file.parts.get(method.name) is method:
        return False  # what calls it is one, or isn't
    if not any(name.startswith("test") for name in info.methods):
        return False
    fixture = any(last_name(called(each)) == "fixture" for each in method.decorators)
    return not fixture and not means("set-up", method.name, "function")


def forget_tested(info: ClassInfo, frame: Frame, this: Value) -> None:
    """Forget where the modules are that one test moves, and what it stores: the next may find that
    or what was set up."""
    found = frame.state.heap[this.data]
    scans = [info.file.scan(m) for m in info.methods.values() if is_of_one_test(info, m)]
    stored = {name for scan in scans for name in scan.self_stores}
    for name in {name for scan in scans for name in scan.self_moves} & found.entries.keys():
        place_module(frame, found.entries[name], UNKNOWN)
    if stored & found.entries.keys():
        frame.state.heap[this.data] = found.without(stored)


def as_kept(info: ClassInfo, name: str, value: Value) -> Value:
    """What a module keeps under a name: a tensor that it made and hasn't registered stays where it
    was made, wherever the module goes, unless the class sees to it."""
    if value.kind is not Kind.TENSOR or value.origin not in MADE or is_registered(value):
        return value
    if info.moves_itself() or is_taken_along(info, name):
        return value.but(device=UNKNOWN)
    if not only_host(value.device) or any(map(stands_in, conditions(value.device))):
        return value
    kept = value.step(Sort.ATTRIBUTE, info.node)
    return kept.but(origin=Origin.ATTRIBUTE, data=(info, name))


def is_taken_along(info: ClassInfo, name: str) -> bool:
    """Whether a method stores what a function gives for the attribute itself, which may be a move:
    `self.mask = on_same_device(x, self.mask)`."""
    return name in info.once(_taken_along, info)


def _taken_along(info: ClassInfo) -> frozenset[str]:
    return frozenset(
        taken
        for each, method in info.all_methods()
        if each.file.scan(method).self_stores
        for node in nodes_of(method.body)
        for taken in _given_back(each.file, node, first_parameter(method))
    )


def is_asked_about(info: ClassInfo, name: str) -> bool:
    """Whether a method asks what an attribute is or where it is, gives it away, or moves it."""
    return name in info.once(_asked_about, info)


def _asked_about(info: ClassInfo) -> frozenset[str]:
    return frozenset(
        asked
        for each, method in info.all_methods()
        if method.params and method.name != "__init__"
        for node in nodes_of(method.body)
        for asked in _asked(each.file, node, method.params[0].name)
    )


_ABOUT_TYPES = ("isinstance", "hasattr", "type", "callable", "is_tensor")
_ABOUT_PLACES = frozenset("to cuda cpu type type_as device is_cuda get_device".split())


def _asked(file: File, node: ir.Node, this: str) -> set[str]:
    """The attributes that a node asks about."""
    match node:
        case ir.Attribute(value=inner, attr=attr) if attr in _ABOUT_PLACES:
            return {self_attribute(inner, this)}
        case ir.Call(func=func, args=args) if given := _given(args, this):
            name = name_in(file, func)
            if last_name(func) in _ABOUT_TYPES or not name.startswith(("torch.", "builtins.len")):
                return given
    return set()


def _given_back(file: File, node: ir.Node, this: str) -> set[str]:
    """The attributes that a node stores anew by way of a function."""
    match node:
        case ir.Assign(targets=targets, value=ir.Call(func=func, args=args)):
            if not name_in(file, func).startswith("torch."):
                return {self_attribute(target, this) for target in targets} & _given(args, this)
    return set()


def _given(arguments: tuple[ir.Argument, ...], this: str) -> set[str]:
    """The attributes among arguments."""
    return {self_attribute(each.value, this) for each in arguments} - {""}
