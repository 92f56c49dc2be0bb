"""Tensors that a method makes for one input and keeps for the next ones of the same size.

`if self.mask is None or self.mask.size(0) != n: self.mask = ...` asks for the size and not for the
device: once the module has been moved, an input of that size meets the tensor of the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from devlint.flow.bodies.functions import run_alone
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.keys import is_about_devices
from devlint.flow.domain.lattice import CPU, Symbol, is_place_of_argument
from devlint.flow.domain.traits import REGISTERED
from devlint.flow.domain.values import Kind, Origin, Value
from devlint.flow.facts import CachedTensor, Operand
from devlint.flow.frames.files import ClassInfo, File
from devlint.flow.frames.frame import Frame
from devlint.flow.frames.library import name_in
from devlint.flow.modules.placement import is_registered
from devlint.flow.syntax.walk import (
    descendants,
    first_parameter,
    is_one_of,
    nodes_of,
    self_attribute,
)
from devlint.model import ir
from devlint.model.reports import Hop
from devlint.model.trees import one_or_several, words

_LOOKS = frozenset(
    ("len", "hasattr", "getattr", "int", "max", "min", "size", "dim", "numel", "any")
)
"""What the test of a cache may call: nothing of it asks for a place."""


@dataclass(frozen=True, slots=True)
class _Cache:
    """The branch by which a method keeps what an earlier call has made.

    `reuses`: what was made is used again where its test holds, and not where it doesn't.
    """

    branch: ir.If
    attributes: frozenset[str]
    reuses: bool


def tell(info: ClassInfo, method: ir.Function, start: Frame, this: Value) -> None:
    """Run a method, and those that call it, once more as they run where it made nothing."""
    if info.moves_itself() or info.intercepts():
        return
    for cache in _caches(info, method):
        kept = {
            name: stored
            for name in sorted(cache.attributes)
            if (stored := _follows_input(info, start, this, method, name)) is not None
        }
        if kept and not _runs_once(info, method.name):
            _rerun(info, method, start, this, cache, kept)


def _runs_once(info: ClassInfo, name: str) -> bool:
    """Whether all ways to a method lead through methods that come back at once where they have run
    before: `if hasattr(self, "fused"): return`, then `self.fused = ...`."""
    ahead, seen = {name}, set[str]()
    while ahead - seen:
        name = (ahead - seen).pop()
        seen.add(name)
        if not _comes_back(info, info.methods[name]):
            callers = {n for n, m in info.methods.items() if name in info.file.scan(m).self_calls}
            if not callers - {name}:
                return False
            ahead |= callers
    return True


def _comes_back(info: ClassInfo, method: ir.Function) -> bool:
    this = first_parameter(method)
    for statement in method.body:
        match statement:
            case ir.Evaluate(value=ir.Constant()):
                continue  # a docstring
            case ir.If(test=ir.Call(func=func, args=(_, asked)), body=body) if (
                name_in(info.file, func) == "builtins.hasattr"
            ):
                key = asked.value.value if isinstance(asked.value, ir.Constant) else None
            case ir.If(test=test, body=body):
                key = self_attribute(test, this)
            case _:
                return False
        returns = len(body) == 1 and isinstance(body[0], ir.Return)
        return returns and key in info.file.scan(method).self_stores
    return False


def _rerun(
    info: ClassInfo,
    method: ir.Function,
    start: Frame,
    this: Value,
    cache: _Cache,
    kept: dict[str, tuple[ir.Stmt, Operand]],
) -> None:
    world = start.world
    state = start.fork()
    found, cached = state.heap[this.data], Step(Sort.CACHED, cache.branch)
    entries = {
        name: Value(
            Kind.TENSOR, CPU, (info, name), Origin.ATTRIBUTE, operand.value.scalar, trace=cached
        )
        for name, (_, operand) in kept.items()
    }
    state.heap[this.data] = replace(found, entries={**found.entries, **entries})
    around = replace(start, state=state)
    before = {name: world.classes.kept.pop((info, name), None) for name in kept}
    mark = len(world.facts)
    world.classes.reused[cache.branch] = cache.reuses
    for each in info.methods.values():
        calls = info.file.scan(each).self_calls
        if each is method or (method.name in calls and each.name != "__init__"):
            run_alone(info.closure_of(each), around, this)
    del world.classes.reused[cache.branch]
    del world.facts[mark:]
    for name, (statement, operand) in kept.items():
        uses = [node for node, _ in world.classes.kept.pop((info, name), [])]
        if (met := before[name]) is not None:
            world.classes.kept[info, name] = met
            continue
        uses += _given_to_parts(info, method, name, cache.branch)
        if uses:
            nodes = dict.fromkeys(uses)
            hops = tuple(Hop(n, "used by a later call here", Sort.CACHED.value) for n in nodes)
            made = _made_empty(info, name)
            start.record(
                CachedTensor(
                    made or statement, start.context(), info.node.name, name, statement, operand,
                    cache.branch.test, cache.reuses, hops,
                    empty=made is not None and not info.binds(name),
                    moved_later=start.world.classes.moved_later,
                )
            )  # fmt: skip


def _given_to_parts(
    info: ClassInfo, method: ir.Function, name: str, branch: ir.If
) -> Iterator[ir.Call]:
    """The calls that give it to what the module holds, whatever that is: it was made for them where
    the input is."""
    this = method.params[0].name
    inside = set(descendants(branch))
    for node in descendants(method):
        if isinstance(node, ir.Call) and node not in inside:
            called = self_attribute(node.func, this)
            if called and info.method(called) is None:
                if any(self_attribute(argument.value, this) == name for argument in node.args):
                    yield node


def _follows_input(
    info: ClassInfo, frame: Frame, this: Value, method: ir.Function, name: str
) -> tuple[ir.Stmt, Operand] | None:
    """Where a method stores a tensor that it makes where its input or the module is, with it."""
    held = frame.state.heap[this.data].entries.get(name)
    if held is not None and (held.trait in REGISTERED or held.kind is Kind.MODULE):
        return None
    for statement, operand in frame.world.classes.stores.get((info, name), []):
        value, place = operand.value, operand.device
        if value.kind is Kind.TENSOR and value.scalar is not True and isinstance(place, Symbol):
            if is_registered(value):
                return None
            parameters = {parameter.name for parameter in method.params}
            if place.key in {*parameters, "self.device"} or is_place_of_argument(place):
                return statement, operand
    return None


def _made_empty(info: ClassInfo, name: str) -> ir.Stmt | None:
    """The statement of the constructor that says that nothing is kept yet: `self.mask = None`."""
    init = info.methods.get("__init__")
    this = first_parameter(init)
    for statement in init.body if init is not None else ():
        match statement:
            case ir.Assign(targets=(target,), value=ir.Constant(value=None), annotation=None) if (
                self_attribute(target, this) == name
            ):
                return statement
    return None


# --- which branches are caches -------------------------------------------------------------------


def _caches(info: ClassInfo, method: ir.Function) -> Iterator[_Cache]:
    scan = info.file.scan
    if not (scan(method).self_stores or scan(method).self_calls):
        return
    this = method.params[0].name
    for position, statement in enumerate(method.body):
        if not isinstance(statement, ir.If) or statement.orelse:
            continue
        before, after = method.body[:position], method.body[position + 1 :]
        stored = _stored(info, statement.body, this)
        reuses = not stored and isinstance(next(reversed(statement.body), None), ir.Return)
        if reuses:
            stored = _stored(info, after, this)
        asked = _asked(info.file, statement.test, this) & stored
        if _is_empty_where_used(statement.test, reuses):
            continue
        if asked and not _asks_for_place(method, statement.test):
            outside = () if reuses else (*before, *after)
            alone = stored - _stored(info, outside, this) - _stored_by_others(info, method)
            if asked <= alone:
                yield _Cache(statement, frozenset(alone), reuses)


def _stored(info: ClassInfo, body: ir.Body, this: str) -> set[str]:
    """The attributes that statements store, themselves or by a method of the class that they
    call."""
    found: set[str] = set()
    for node in nodes_of(body):
        match node:
            case ir.Assign(targets=targets):
                for target in targets:
                    found |= {self_attribute(part, this) for part in one_or_several(target)}
            case ir.Call(func=func):
                called = info.methods.get(self_attribute(func, this))
                if called is not None:
                    found |= info.file.scan(called).self_stores
    return found - {""}


def _is_empty_where_used(test: ir.Expr, reuses: bool) -> bool:
    """Whether nothing is kept where nothing is made: `if self.x is None: return` before
    `self.x = self.x.to(y.device)`, which makes it anew each time."""
    match test:
        case ir.Compare(op="is" | "is not" as op, left=ir.Attribute(), right=ir.Constant(None)):
            return (op == "is") is reuses
    return False


_READERS = ("builtins.hasattr", "builtins.getattr")


def _asked(file: File, test: ir.Expr, this: str) -> set[str]:
    """The attributes that a test looks at."""
    found: set[str] = set()
    for node in descendants(test):
        match node:
            case ir.Attribute():
                found.add(self_attribute(node, this))
            case ir.Call(
                func=func,
                args=(
                    ir.Argument(value=ir.Name(id=owner)),
                    ir.Argument(value=ir.Constant(value=name)),
                    *_,
                ),
            ) if owner == this and name_in(file, func) in _READERS:
                found.add(str(name))
    return found - {""}


def _asks_for_place(method: ir.Function, test: ir.Expr) -> bool:
    """Whether a test looks at a device, or at something that may hang on one."""
    if any(map(is_about_devices, words(test))):
        return True
    names = set()
    for node in descendants(test):
        match node:
            case ir.Name(id=name):
                names.add(name)
            case ir.Call(func=ir.Name(id=called) | ir.Attribute(attr=called)) if called in _LOOKS:
                pass
            case ir.Call():
                return True
    return any(
        isinstance(node, ir.Assign)
        and node.value is not None
        and any(is_one_of(target, names) for target in node.targets)
        and any(map(is_about_devices, words(node.value)))
        for node in descendants(method)
    )


def _stored_by_others(info: ClassInfo, method: ir.Function) -> set[str]:
    """The attributes that more than the constructor, a method and what it calls store: what resets
    one may be called wherever the module is moved."""
    called = info.file.scan(method).self_calls
    return {
        name
        for other, scan in info.scans()
        if other is not method and other.name != "__init__" and other.name not in called
        for name in scan.self_stores
    }
