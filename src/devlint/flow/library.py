"""Names of libraries: what an import binds, and the dotted name that an expression spells."""

from __future__ import annotations

import builtins
from functools import lru_cache

from devlint import ir
from devlint.flow.frame import Frame
from devlint.flow.values import Kind, Value

BUILTINS = frozenset(dir(builtins))

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


def import_names(frame: Frame, statement: ir.Import) -> None:
    """`import a.b` binds `a`; `import a.b as c` binds `c`."""
    for alias in statement.names:
        if alias.asname is not None:
            frame.state.bind(alias.asname, library_value(alias.name))
        else:
            root = alias.name.partition(".")[0]
            frame.state.bind(root, library_value(root))
        _note_nn(frame, alias.asname or alias.name, alias.name)


def import_from(frame: Frame, statement: ir.ImportFrom) -> None:
    """`from a import b` binds `b` to `a.b`; a relative name keeps its dots (`.models.Net`)."""
    prefix = "." * statement.level + statement.module
    for alias in statement.names:
        if alias.name == "*":
            continue
        separator = "" if prefix.endswith(".") or not prefix else "."
        name = f"{prefix}{separator}{alias.name}"
        frame.state.bind(alias.asname or alias.name, library_value(name))
        _note_nn(frame, alias.asname or alias.name, name)


def _note_nn(frame: Frame, bound: str, name: str) -> None:
    if name == "torch.nn":
        frame.world.nn = bound
    elif name == "torch" and not frame.world.nn:
        frame.world.nn = f"{bound}.nn"


def dotted(frame: Frame, node: ir.Expr) -> str:
    """The library name that an expression spells (`nn.Linear` -> "torch.nn.Linear"), else ""."""
    if isinstance(node, ir.Name):
        value = frame.look_up(node.id)
        if value is None:
            return f"builtins.{node.id}" if node.id in BUILTINS else ""
        known = value.kind is Kind.LIBRARY and isinstance(value.data, str)
        return str(value.data) if known else ""
    if isinstance(node, ir.Attribute):
        base = dotted(frame, node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""
