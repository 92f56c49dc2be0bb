"""`def` and `class`."""

from __future__ import annotations

from itertools import islice

from devlint.flow.bodies.classes import declare_class
from devlint.flow.conditions.guards import COMPILES, FOR_ACCELERATORS, guard_of, needs_accelerator
from devlint.flow.devices.named import use_device
from devlint.flow.domain.lattice import CPU
from devlint.flow.domain.state import State
from devlint.flow.domain.values import NOTHING, Kind, Value
from devlint.flow.facts import Guard
from devlint.flow.frames import library
from devlint.flow.frames.arguments import Given
from devlint.flow.frames.files import ClassInfo, Closure
from devlint.flow.frames.frame import Frame
from devlint.model import ir
from devlint.model.trees import called, dotted_name
from devlint.policy import means


def define_function(frame: Frame, node: ir.Function) -> None:
    decorators = _decorate(frame, node)
    run_defaults(frame, node)
    if any(_compiles(frame, decorator) for decorator in node.decorators):
        frame.state.bind(node.name, NOTHING)
        return  # it looks like Python, and isn't
    qualname = f"{frame.qualname}.{node.name}".lstrip(".")
    closure = Closure(node, frame.file, frame.inner(), frame.owner, qualname)
    if frame.is_alone and frame.recording:
        frame.world.pending.append((closure, frame, dict(frame.state.known.literals())))
    if frame.function is None and any(_is_fixture(frame, each) for each in node.decorators):
        frame.file.fixtures[node.name] = closure
    value = Value(Kind.FUNCTION, data=closure)
    for decorator, decorates in reversed(decorators):
        if library.dotted(frame, called(decorator)) not in _TRANSPARENT:
            value = _decorated(frame, decorator, decorates, value)
    frame.state.bind(node.name, value)
    if node.name in frame.globals and frame.file.guest is None:
        frame.file.names[node.name] = value


def _decorate(frame: Frame, node: ir.Function | ir.Class) -> list[Given]:
    """Evaluate decorators. What one of them asks for holds where the others give parameters."""
    before = frame.guard
    asking = (each for each in node.decorators if needs_accelerator(frame, each))
    first = tuple(islice(asking, 2))  # one of them is another than the one that is evaluated
    found: list[Given] = []
    for decorator in node.decorators:
        others = tuple(other for other in first if other is not decorator)
        frame.guard = guard_of(frame, before, others)
        found.append((decorator, frame.evaluate(decorator)))
    frame.guard = before
    return found


def run_defaults(frame: Frame, node: ir.Function) -> None:
    """Evaluate the defaults of a function where it stands."""
    before, around = frame.guard, guard_of(frame, frame.guard, node.decorators)
    for parameter in node.params:
        if parameter.default is None:
            continue
        frame.default_of = parameter.name
        value = frame.evaluate(parameter.default)
        frame.default_of = ""
        named = value.kind is Kind.STRING and isinstance(value.data, str) and value.device != CPU
        if named and frame.tells and means("a-device", parameter.name, "parameter"):
            frame.guard = around  # it is used where the function runs
            use_device(frame, parameter.default, value, via="default")
            frame.guard = before


_TRANSPARENT = frozenset(
    ("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled",
     "torch.jit.script", "torch.jit.ignore", "torch.jit.export", "torch.jit.unused",
     "torch.compile", "torch.compiler.disable", "torch.autocast", "torch.amp.autocast",
     "torch.cuda.amp.autocast", "contextlib.contextmanager", "functools.wraps",
     "functools.lru_cache", "functools.cache",
     "builtins.staticmethod", "builtins.classmethod", "typing.overload", "typing.final",
     "typing.override", "typing_extensions.override", "beartype.beartype", "typeguard.typechecked",
     "jaxtyping.jaxtyped", "streamlit.cache", "streamlit.cache_data", "streamlit.cache_resource",
     "tenacity.retry")
)  # fmt: skip
"""With these, a function does what its body says."""


def _decorated(frame: Frame, node: ir.Expr, decorator: Value, function: Value) -> Value:
    """What a decorator of the project makes of a function: the function itself, which it has noted
    somewhere, or one that calls it. Of any other nobody knows. A class is taken to stay what it
    is."""
    if decorator.kind is not Kind.FUNCTION or not isinstance(decorator.data, Closure):
        return NOTHING
    made = frame.world.invoke(frame, node, decorator.data, [function], {})
    return made if made.kind is Kind.FUNCTION else NOTHING


_COMPILERS = frozenset((*FOR_ACCELERATORS, "numba", "jax", "taichi", "warp"))


def _compiles(frame: Frame, decorator: ir.Expr) -> bool:
    """Whether another compiler than torch's reads the body: in a kernel of Triton's, numbers have
    a `.to()`. A project may hand such a compiler on: `from project.compat import triton`."""
    func = called(decorator)
    words = (library.dotted(frame, func) or dotted_name(func)).split(".")
    return words[-1] in COMPILES and not _COMPILERS.isdisjoint(words)


def _is_fixture(frame: Frame, decorator: ir.Expr) -> bool:
    return library.dotted(frame, called(decorator)) == "pytest.fixture"


def define_class(frame: Frame, node: ir.Class) -> None:
    decorators = _decorate(frame, node)
    info = declare_class(frame, node)
    info.guard = guard_of(frame, frame.guard, node.decorators)
    if info.guard is Guard.NONE and means("for-cuda", node.name, "class"):
        info.guard = Guard.CHOSEN
    info.known, info.around = dict(frame.state.known.literals()), frame.inner()
    inner = Frame(
        frame.world, frame.file, State(), qualname=f"{frame.qualname}.{node.name}".lstrip("."),
        around=info.around,
        recording=frame.recording, owner=info, of_role=info.role, site=frame.site, guard=info.guard,
    )  # fmt: skip
    inner.state.heap, inner.state.known = frame.state.heap, frame.state.known.copy()
    for statement in node.body:
        if isinstance(statement, ir.Function):
            _decorate(inner, statement)
            run_defaults(inner, statement)
        else:
            inner.run((statement,))
    info.env.update(inner.state.env)
    made = Value(Kind.CLASS, data=info)
    frame.state.bind(node.name, made)
    _announce(frame, node, made, info)
    for decorator, decorates in reversed(decorators):
        _decorated(frame, decorator, decorates, made)


def _announce(frame: Frame, node: ir.Class, made: Value, info: ClassInfo) -> None:
    """Python tells the nearest base that wants to know of each class which inherits from it."""
    wanting = (each for each in info.ancestors if "__init_subclass__" in each.methods)
    for base in islice(wanting, 1):
        given = {a.keyword: frame.evaluate(a.value) for a in node.bases if a.keyword is not None}
        closure = base.closure_of(base.methods["__init_subclass__"])
        frame.world.invoke(frame, ir.Name(node.name, node.origin), closure, [made], given)
