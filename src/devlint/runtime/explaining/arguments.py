"""What a module was called with, and how the line that called it writes that."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torch import Tensor

from devlint.runtime.explaining.expressions import holder_of
from devlint.runtime.explaining.lookup import tensors_of
from devlint.runtime.explaining.source import Source
from devlint.runtime.explaining.stack import ModuleFrame


def arguments(call: ModuleFrame) -> Iterator[tuple[str, Tensor]]:
    """The tensors that a module was called with, and where they stand."""
    for index, value in enumerate(call.args):
        for named in tensors_of(f"args[{index}]", value, objects=True):
            if named.tensor is not None:
                yield named.text, named.tensor
    for name, value in (call.kwargs or {}).items():
        for named in tensors_of(name, value, objects=True):
            if named.tensor is not None:
                yield named.text, named.tensor


def written_argument(node: ast.Call, position: str, source: Source) -> tuple[str, ast.AST | None]:
    """What a call's source has for an argument: its text, and its node if it is one of its own."""
    head, number, inner = _taken_apart(position)
    if head == "args" and number:
        index = int(number)
        before = node.args[: index + 1]
        starred = next((i for i, arg in enumerate(before) if isinstance(arg, ast.Starred)), None)
        if starred is not None:
            part = before[starred]
            assert isinstance(part, ast.Starred)
            return f"{source.text_of(part.value)}[{index - starred}]{inner}", None
        if index >= len(node.args):
            return "", None
        return _part(node.args[index], inner, source)
    for keyword in node.keywords:
        if keyword.arg == head:
            return _part(keyword.value, inner, source)
    unpacked = [keyword.value for keyword in node.keywords if keyword.arg is None]
    if len(unpacked) == 1:
        return f'{source.text_of(unpacked[0])}["{head}"]{inner}', None
    return "", None


def _part(node: ast.expr, inner: str, source: Source) -> tuple[str, ast.AST | None]:
    """A part of an argument; of a tuple or a list that the line writes out, the item itself."""
    step = re.match(r"\[(\d+)\]", inner)
    while step is not None and isinstance(node, (ast.Tuple, ast.List)):
        if any(isinstance(item, ast.Starred) for item in node.elts):
            break
        node, inner = node.elts[int(step[1])], inner[step.end() :]
        step = re.match(r"\[(\d+)\]", inner)
    return source.text_of(node) + inner, None if inner else node


def _taken_apart(position: str) -> tuple[str, str, str]:
    """The name of a keyword or `args`, the number of the argument, and the way to the tensor."""
    match = re.fullmatch(r"(?s)(?:args\[(\d+)\]|(\w+))(.*)", position)
    assert match is not None
    return match[2] or "args", match[1] or "", match[3]


def whole_argument(node: ast.Call, position: str, source: Source) -> str:
    """The argument that a tensor is in, as the program writes it, if it can be moved as a whole."""
    head, number, inner = _taken_apart(position)
    if number and not inner:
        return ""
    parts = [keyword.value for keyword in node.keywords if keyword.arg in (head, None)]
    if number:
        parts = node.args[int(number) : int(number) + 1]
    return holder_of(parts[0], source) if len(parts) == 1 else ""


def argument_for(call: ast.Call, names: Sequence[str], name: str) -> ast.expr | None:
    """What a call has for a parameter."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    index = list(names).index(name)
    given = call.args[: index + 1]
    is_plain = len(given) == index + 1 and not any(isinstance(a, ast.Starred) for a in given)
    return given[index] if is_plain else None
