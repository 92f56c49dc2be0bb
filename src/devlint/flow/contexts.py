"""What the rest of the project does with what a fact is about: what its calls give to a function,
and what it makes of an object's attributes. It is asked only where there is something to report.
"""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.calls.callers import is_edge
from devlint.flow.domain.derivation import Sort
from devlint.flow.domain.lattice import (
    THE_MODULE,
    Symbol,
    is_named_by_argument,
    is_place_of_argument,
    may_be_host,
    parameter_of,
)
from devlint.flow.domain.values import Kind
from devlint.flow.effects.workers import STARTERS
from devlint.flow.facts import (
    AttributeRead,
    CachedTensor,
    DeviceUse,
    Fact,
    Ignored,
    IgnoredDevice,
    KeptDevice,
    KeptTensor,
    ModuleCall,
    Role,
    SharedDevice,
    WorkerUse,
)
from devlint.flow.facts.meetings import met
from devlint.flow.frames.others import receiver_of
from devlint.flow.project import Project
from devlint.flow.syntax.processes import SETTERS, VISIBLE
from devlint.flow.syntax.walk import descendants, self_attribute
from devlint.model import ir

FROM_HOST = "callers-bring-it-from-the-host"
FROM_OUTSIDE = "placed-from-outside"
FOR_SAMPLES = "for-samples-elsewhere"
OF_HOST_PROGRAM = "program-on-the-host"
HANDED_OVER = "handed-over-elsewhere"
PASSED = "passed-elsewhere"
CHOSEN = "chosen-elsewhere"
SPAWNED = "spawned-elsewhere"
ONE_MACHINE = "on-one-machine"
OWN_MODEL = "model-of-its-own"


def withheld(fact: Fact, path: str, project: Project) -> str:
    """Why a fact of a file isn't so for all that the project shows; "" where nothing speaks against
    it."""
    if isinstance(fact, KeptDevice):
        parameter = (path, fact.class_name, fact.parameter)
        return PASSED if fact.parameter and project.passes(parameter) else ""
    if isinstance(fact, IgnoredDevice):
        asked = fact.how in _INTERFACE and "." not in fact.context.function
        return HANDED_OVER if asked and project.hands_over(path, fact.function) else ""
    if isinstance(fact, SharedDevice):
        return CHOSEN if project.says(path, (*SETTERS, *VISIBLE)) else ""
    if isinstance(fact, WorkerUse):
        return SPAWNED if project.says(path, STARTERS) else ""
    if isinstance(fact, DeviceUse):
        asked = any(step.sort is Sort.GLOBAL_RANK for step in fact.operand.steps)
        return ONE_MACHINE if asked and project.is_on_one_machine(path) else ""
    if isinstance(fact, (CachedTensor, KeptTensor)) and project.stores(path, fact.attr):
        return FROM_OUTSIDE
    if isinstance(fact, KeptTensor) and project.lends_device(path, fact.method):
        return FROM_OUTSIDE
    if isinstance(fact, CachedTensor) and not fact.moved_later and project.tries_its_own(path):
        return OWN_MODEL
    if isinstance(fact, AttributeRead):
        plain = fact.receiver.kind is Kind.MODULE and not fact.defined
        return FROM_OUTSIDE if plain and project.gives_modules(path, fact.attr) else ""
    places = [each.device for each in met(fact) if isinstance(each.device, Symbol)]
    if places and project.runs_on_host(path):
        return OF_HOST_PROGRAM
    if places and not fact.context.running and project.shows_on_host(path):
        return OF_HOST_PROGRAM
    given = any(map(is_place_of_argument, places))
    if given and fact.context.role is Role.PLAIN and project.gives_host(path):
        return OF_HOST_PROGRAM
    running = fact.context.running.partition(".")[0]  # the function, or the class of a method
    if given and running and project.is_for_samples(path, running):
        return FOR_SAMPLES
    if any(project.brings((path, *each)) for each in _arguments(fact)):
        return FROM_HOST
    if any(project.gives_another((path, *each)) for each in _loaders(fact)):
        return FROM_OUTSIDE
    method = fact.context.running
    if THE_MODULE in places:
        edge = is_edge(method.rpartition(".")[2], fact.context.role)
        this = path, method, receiver_of(fact.context.row)
        if (not edge or project.tries_its_own(path)) and project.brings(this):
            return FROM_HOST
    if any(project.places(path, *each) for each in _attributes(fact)):
        return FROM_OUTSIDE
    return ""


_INTERFACE = (Ignored.UNREAD, Ignored.UNUSED, Ignored.OVERWRITTEN)
"""What is no mistake where others ask for the parameter."""


def _arguments(fact: Fact) -> Iterator[tuple[str, str]]:
    """The arguments of which a fact says something, or which name a place: the function's dotted
    name and that of the parameter. A place may go by the name that it has where the function is
    called, or where the constructor of its object has got it."""
    context = fact.context
    owner = context.running.rpartition(".")[0]
    functions = (context.running, context.function)
    edges = {each for each in functions if is_edge(each.rpartition(".")[2], context.role)}
    for place in {each.device for each in met(fact) if is_named_by_argument(each.device)}:
        yield context.running, parameter_of(place)
    for operand in () if isinstance(fact, ModuleCall) else met(fact):
        if not is_place_of_argument(operand.device):
            continue
        name = parameter_of(operand.device)
        if context.running not in edges:
            yield context.running, name
            if isinstance(operand.node, ir.Name) and context.function not in edges:
                yield context.function, operand.node.id
        if owner:
            yield f"{owner}.__init__", name


def _loaders(fact: Fact) -> Iterator[tuple[str, str]]:
    """The parameters that are taken for loaders by what they are called, of which something comes:
    the function's dotted name and that of the parameter."""
    for operand in met(fact):
        for step in operand.steps:
            if step.sort is Sort.HOST_LOADER and isinstance(step.node, ir.Parameter):
                yield fact.context.running, step.node.name


def _attributes(fact: Fact) -> Iterator[tuple[str, bool]]:
    """The attributes of the running method's object on which it hangs that something is on the
    host, and whether they are modules: there its class has put them, unless others do."""
    this = fact.context.receiver
    if not this:
        return
    for operand in filter(lambda each: may_be_host(each.device), met(fact)):
        for node in (operand.node, *(step.node for step in operand.steps)):
            called = node.func if isinstance(node, ir.Call) else None
            for each in descendants(called or node):
                if attr := self_attribute(each, this):
                    yield attr, each is called or operand.kind is Kind.MODULE
