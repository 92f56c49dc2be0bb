"""Names of libraries: what an import binds, and the dotted name that an expression spells."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from functools import lru_cache

from devlint.flow.domain.keys import CUDA_AVAILABLE, GENERAL
from devlint.flow.domain.lattice import Device, Symbol, conditions, symbols
from devlint.flow.domain.paths import Path, path_value
from devlint.flow.domain.values import Condition, Kind, Value
from devlint.flow.frames.files import File
from devlint.flow.frames.frame import Frame
from devlint.flow.syntax.imports import spelled
from devlint.model import ir
from devlint.torchapi.effects import Effect
from devlint.torchapi.spellings import is_of_other_framework

BUILTINS = frozenset(dir(builtins))

EXITS = frozenset(
    ("sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit", "pytest.skip",
     "pytest.exit", "pytest.fail", "pytest.xfail")
)  # fmt: skip
"""Functions that don't come back."""

DTYPES = frozenset(
    "float float16 float32 float64 half double bfloat16 int int8 int16 int32 int64 short long "
    "uint8 uint16 uint32 uint64 bool cfloat cdouble complex32 complex64 complex128 chalf "
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu quint8 qint8 "
    "qint32".split()
)


@lru_cache(maxsize=4096)
def library_value(name: str) -> Value:
    """The value that a dotted name stands for."""
    head, _, last = name.rpartition(".")
    if head == "torch" and last in DTYPES:
        return Value(Kind.DTYPE, data=name)
    return Value(Kind.LIBRARY, data=name)


_ANY = "_"
"""What stands for a name that isn't known: rows with a `*` there are meant."""


def member(frame: Frame, namespace: str, name: object, node: ir.Expr) -> Value:
    """What a library, or another file, has by a name that a program computes."""
    text = name if isinstance(name, str) and name.isidentifier() else _ANY
    return followed(frame, library_value(f"{namespace}.{text}"), node)


def followed(frame: Frame, value: Value, node: ir.Expr) -> Value:
    """What a name stands for that may be another file's of the project; else the value itself.

    Rows that claim something come first.
    """
    project = frame.world.project
    name = value.data
    if project is None or value.kind is not Kind.LIBRARY or not isinstance(name, str):
        return value
    row = frame.world.table.get(name)
    if row is not None and row.effect is not Effect.OPAQUE:
        return value
    found = project.value(frame.file, name)
    return value if found is None else _seen_from_outside(found, ir.render(node))


def from_star(frame: Frame, node: ir.Name) -> Value | None:
    """What a name stands for that `import *` may have bound."""
    project = frame.world.project
    found = None if project is None else project.of_star(frame.file, node.id)
    return None if found is None else _seen_from_outside(found, node.id)


def _seen_from_outside(value: Value, text: str) -> Value:
    """A name's value without what only its own file can tell apart: `args` is another one here.

    What remains is its identity, as it is spelled here.
    """
    if isinstance(value.data, Condition):
        return value.but(data=_general_condition(value.data))
    if value.kind is Kind.UNKNOWN and value.data is not None:
        return path_value(text)
    if _is_general(value.device):
        return value
    return value.but(device=Symbol(text, text))


def condition(frame: Frame, node: ir.Expr) -> Condition | None:
    """The condition that a name stands for, in whichever file it was stored, or an attribute of an
    object that is another one where it holds."""
    name = dotted(frame, node) if isinstance(node, ir.Attribute) else ""
    value = library_value(name) if name else stored(frame, node)
    if value is None and isinstance(node, ir.Name):
        value = from_star(frame, node)
    if value is not None and value.kind is Kind.LIBRARY:
        value = followed(frame, value, node)
    return value.data if value is not None and isinstance(value.data, Condition) else None


def stored(frame: Frame, node: ir.Expr) -> Value | None:
    """The value of a name, or of an attribute of an object that a name stands for."""
    match node:
        case ir.Name(id=name):
            return frame.look_up(name)
        case ir.Attribute(value=ir.Name(id=name), attr=attr):
            return _held(frame, name, attr)
    return None


def _held(frame: Frame, name: str, attr: str) -> Value | None:
    """What an object that a name stands for has under an attribute; or one of several objects: a
    flag in which they differ tells which."""
    value = frame.look_up(name)
    if value is not None and isinstance(value.data, Path):  # what was stored in it here
        paths = frame.state.paths
        return paths.get(f"{name}.{attr}") or paths.get(f"{value.data.text}.{attr}")
    found = None if value is None else frame.object(value)
    return None if found is None else found.entries.get(attr)


def _general_condition(found: Condition) -> Condition:
    """What a stored condition means in every file."""
    key = found.key if found.key is not None and found.key[0] in GENERAL else None
    true, false = (
        tuple(each for each in side if each[0] in GENERAL) for side in (found.true, found.false)
    )
    return Condition(key, true, false)


def _is_general(device: Device) -> bool:
    """Whether a device means the same in every file."""
    return conditions(device) <= {CUDA_AVAILABLE} and not any(symbols(device))


def import_names(frame: Frame, statement: ir.Import) -> None:
    """`import a.b` binds `a`; `import a.b as c` binds `c`."""
    project = frame.world.project
    for alias in statement.names:
        root = alias.name.partition(".")[0]
        if project is not None:
            project.imported(frame.file, 0, alias.name)
            project.imported(frame.file, 0, root)
        frame.state.bind(alias.asname or root, library_value(alias.name if alias.asname else root))
        _note_nn(frame, alias.asname or alias.name, alias.name)


def import_from(frame: Frame, statement: ir.ImportFrom) -> None:
    """`from a import b` binds `b` to `a.b`. A relative name keeps its dots (`.models.Net`) where
    its module isn't followed."""
    prefix = "." * statement.level + statement.module
    project = frame.world.project
    module = None
    if project is not None:
        module = project.imported(frame.file, statement.level, statement.module)
    if module is not None:
        prefix = module
    for alias in statement.names:
        if alias.name == "*":
            if module is not None:
                frame.file.stars = (*frame.file.stars, module)
            continue
        separator = "" if prefix.endswith(".") or not prefix else "."
        name = f"{prefix}{separator}{alias.name}"
        frame.state.bind(alias.asname or alias.name, library_value(name))
        _note_nn(frame, alias.asname or alias.name, name)


def _note_nn(frame: Frame, bound: str, name: str) -> None:
    if name == "torch.nn":
        frame.file.nn = bound
    elif name == "torch" and not frame.file.nn:
        frame.file.nn = f"{bound}.nn"


def dotted_types(frame: Frame, types: ir.Expr) -> set[str]:
    """The dotted names of the types that `isinstance` is given: one, or several in a tuple."""
    members = types.items if isinstance(types, ir.Display) else (types,)
    return {dotted(frame, member) for member in members}


def asked_types(frame: Frame, node: ir.Expr) -> tuple[ir.Expr, ir.Expr] | None:
    """Of what `isinstance(x, types)` asks, and the types."""
    match node:
        case ir.Call(func=ir.Name(id="isinstance") as func, args=(subject, types)) if is_builtin(
            frame, func
        ):
            return subject.value, types.value
    return None


def named_types(frame: Frame, node: ir.Expr) -> tuple[ir.Expr, set[str]] | None:
    """Of what `isinstance(x, types)` or `torch.is_tensor(x)` asks, and the names of the types."""
    asked = asked_types(frame, node)
    if asked is not None:
        return asked[0], dotted_types(frame, asked[1])
    match node:
        case ir.Call(func=func, args=(subject,)) if dotted(frame, func) == "torch.is_tensor":
            return subject.value, {"torch.Tensor"}
    return None


def asked_attribute(frame: Frame, node: ir.Expr) -> tuple[ir.Expr, str] | None:
    """Of what `hasattr(x, "name")` asks, and the name of the attribute."""
    match node:
        case ir.Call(
            func=ir.Name(id="hasattr") as func,
            args=(subject, ir.Argument(value=ir.Constant(value=str(name)))),
        ) if is_builtin(frame, func):
            return subject.value, name
    return None


def dotted(frame: Frame, node: ir.Expr) -> str:
    """The library name that an expression spells (`nn.Linear` -> "torch.nn.Linear"), else ""."""
    return spelled(node, lambda name: _of_library(frame.look_up(name), name))


def name_in(file: File, node: ir.Expr) -> str:
    """As `dotted`, where nothing runs: by the names of the file alone."""
    return spelled(node, lambda name: _of_library(file.names.get(name), name))


def _of_library(value: Value | None, name: str) -> str:
    """The dotted name of what a name stands for."""
    if value is None:
        return f"builtins.{name}" if name in BUILTINS else ""
    known = value.kind is Kind.LIBRARY and isinstance(value.data, str)
    return str(value.data) if known else ""


def is_builtin(frame: Frame, node: ir.Name) -> bool:
    """Whether a name that is one of Python's own stands for that: nothing binds it here."""
    return node.id in BUILTINS and frame.look_up(node.id) is None


def method_of(frame: Frame, bases: Iterable[str], own: Iterable[str], attr: str) -> str:
    """The dotted name of the method that an object has from a library's class, as the rows say.
    What a pattern of names says of a whole library (`torchvision.**`) says nothing of what one of
    its classes has. `own` are classes whose rows are theirs alone, also where these say nothing."""
    table = frame.world.table
    names = [f"{each}.{attr}" for each in own]
    told = {name: table.get(name) for name in (*(f"{each}.{attr}" for each in bases), *names)}
    for name, row in told.items():
        if row is not None and row.effect is not Effect.OPAQUE:
            return name
    return next((name for name in names if told[name] is not None), "")


def is_tensor_class(name: str) -> bool:
    """Whether a dotted name is torch's tensor, or the name under which a project hands it on
    (`from project.core import Tensor`)."""
    own = name.partition(".")[0] in _OTHER_TENSORS or is_of_other_framework(name)
    return name.endswith(".Tensor") and not own


_OTHER_TENSORS = frozenset(
    ("ncnn", "numpy", "onnx", "onnxruntime", "openvino", "tensorrt", "tf", "tflite", "tvm",
     "typing")
)  # fmt: skip
"""What else has a `Tensor` of its own, besides other frameworks."""
