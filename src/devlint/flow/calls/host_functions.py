"""Plain functions that are meant for tensors of the host.

An argument of a function may be anywhere, unless something tells otherwise: the function itself
reads it as only a tensor of the host can be read, or sends it to a device that was chosen, or a
call in the file brings to the host what it gives, or gives what it has made of arrays. Then nothing
is said of where that argument meets others. Where what it reads so is the output of a model, the
model is on the host as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from devlint.flow.domain.lattice import (
    THE_MODULE,
    Symbol,
    is_place_of_argument,
    parameter_of,
    path_of,
)
from devlint.flow.domain.values import MADE, Origin
from devlint.flow.effects.host import class_around, is_sent
from devlint.flow.facts import (
    CachedTensor,
    Elsewhere,
    Fact,
    HostRead,
    Join,
    KeptTensor,
    ModuleCall,
    Operand,
    Role,
)
from devlint.flow.facts.meetings import met
from devlint.flow.frames.files import ClassInfo
from devlint.flow.frames.world import World
from devlint.flow.syntax.signs import made_up_for_tests
from devlint.flow.syntax.walk import descendants
from devlint.policy import means


def without_host_functions(world: World, facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts, without those about arguments that are on the host."""
    for fact in facts:
        inner = fact.fact if isinstance(fact, Elsewhere) else fact
        function = fact.context.function
        on_host = {function, class_around(function)} & world.callers.run_on_host
        if on_host and _hangs_on_the_model(inner):
            continue
        if _meets_setup(world, inner):
            continue
        meeting = () if isinstance(inner, (ModuleCall, HostRead)) else met(inner)
        if not any(_is_kept_on_host(world, fact, each) for each in meeting):
            yield fact


def without_made_up_modules(world: World, facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts, without those about where modules are that tests make up and leave on the host."""
    made_up = made_up_for_tests(world.home.body)
    for fact in facts:
        if isinstance(fact, (KeptTensor, CachedTensor)):
            is_made_up = fact.class_name in made_up
        else:
            inside = not made_up.isdisjoint(fact.context.function.split("."))
            is_made_up = inside and _hangs_on_the_module(fact)
        if not is_made_up:
            yield fact


def _hangs_on_the_module(fact: Fact) -> bool:
    """Whether it goes wrong only where somebody moves the module, or what it is given."""
    places = [operand.device for operand in met(fact)]
    return any(place == THE_MODULE or is_place_of_argument(place) for place in places)


def _hangs_on_the_model(fact: Fact) -> bool:
    """Whether it goes wrong only where the model, or what it is given, is on an accelerator."""
    if isinstance(fact, ModuleCall):
        return fact.module.device == THE_MODULE
    return any(each.origin is Origin.FOLLOWS for each in met(fact))


def _meets_setup(world: World, fact: Fact) -> bool:
    """Whether an argument that the methods of a plain object give each other meets what one of
    them, which sets the object up (`initialize`), has made on the host: most likely it was computed
    with that. What a constructor has made is there whatever the object is given."""
    if not isinstance(fact, Join) or fact.context.role is not Role.PLAIN:
        return False
    if all(each.origin is not Origin.INPUT for each in fact.placed):
        return False
    made = {each.trace[0].node for each in fact.placed if each.origin in MADE and each.trace}
    name, _, running = fact.context.function.rpartition(".")
    owner = next((c for c in world.home.classes.values() if c.node.name == name), None)
    if not made or owner is None:
        return False
    if all(running not in world.home.scan(each).self_calls for each in owner.methods.values()):
        return False
    apart = ("__init__", running)
    setups = (method for called, method in owner.methods.items() if called not in apart)
    return made <= {node for method in setups for node in descendants(method)}


def _is_kept_on_host(world: World, fact: Fact, operand: Operand) -> bool:
    function = fact.context.function
    if operand.origin is not Origin.FOLLOWS and is_sent(world, function, operand.device):
        return True
    place, is_input = operand.device, operand.origin is Origin.INPUT
    if operand.origin not in _GIVEN or not isinstance(place, Symbol):
        return False
    if is_place_of_argument(place):
        asked = (function, place.key)
        callers = world.callers
        if asked in callers.read_on_host or (asked in callers.sent_on and _is_of_lengths(place)):
            return True
        if is_input and _reads_of_others(world, function, place):
            return True
        if _is_part_read_on_host(world, function, place):
            return True
        handed = world.callers.handed.get((function, parameter_of(place)))
        if handed and handed <= world.callers.read_on_host:
            return True  # whoever hands it on needs it there
    given = world.callers.brought.get((world.home.path, function, parameter_of(place)))
    return is_input and given == {True}


def _is_part_read_on_host(world: World, function: str, place: Symbol) -> bool:
    """Whether it is where a part of an argument is of which another part is read on the host: what
    came in as one thing (`batch["boxes"]`, `graph.edges`) is in one place."""
    whole = parameter_of(place)
    if whole == path_of(place):
        return False
    there = world.callers.read_on_host | world.callers.beside_host
    parts = (key for read, key in there if read == function and key != place.key)
    return any(
        key.startswith((f"{whole}.", f"{whole}[")) and key != f"{whole}.device" for key in parts
    )


def _is_of_lengths(place: Symbol) -> bool:
    """Whether an argument is called as lengths are, which are on the host most likely: where the
    mask that is made of them is moved from there, they are."""
    return bool(means("host-number", parameter_of(place), "variable"))


def _reads_of_others(world: World, function: str, place: Symbol) -> bool:
    """Whether another method of the same plain object, or of its family, reads an argument of that
    name on the host: what `fit(scores)` takes for an array, `apply(scores)` is given as well."""
    owner, read = function.rpartition(".")[0], world.callers.read_on_host
    readers = {method.rpartition(".")[0] for method, other in read if place.key == other}
    if not owner or not readers or readers.isdisjoint(_family(world, owner)):
        return False
    return bool(means("one-thing", parameter_of(place), "parameter"))


def _family(world: World, owner: str) -> set[str]:
    """A class, and those of the file with which it shares a base: they can stand for each other."""
    classes = world.home.classes.values()
    lines = [set(each.lineage()) for each in classes if each.node.name == owner]
    own = set[ClassInfo]().union(*lines)
    return {owner} | {each.node.name for each in classes if not own.isdisjoint(each.lineage())}


_GIVEN = (Origin.INPUT, Origin.FOLLOWS)
