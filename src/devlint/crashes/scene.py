"""The line of the program that failed, as far as a traceback's text shows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devlint.crashes.tracebacks import Frame

LONGEST_SOURCE = 500
"""Characters of a line that are read and shown."""
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python3", "<frozen ")
_TORCH = "-packages/torch/"


def own_line(frames: Sequence[Frame]) -> Frame | None:
    """The innermost line of the program, or of a library where there is none."""
    for is_wanted in (_is_program, _is_no_torch):
        for frame in reversed(frames):
            if is_wanted(frame):
                return frame
    return frames[-1] if frames else None


def caller_of(frames: Sequence[Frame], own: Frame) -> Frame | None:
    """The line of the program that has called a module, or a function, in which it failed."""
    before = frames[: frames.index(own)]
    return next((frame for frame in reversed(before) if _is_program(frame)), None)


def _is_no_torch(frame: Frame) -> bool:
    return _TORCH not in frame.file.replace("\\", "/")


def _is_program(frame: Frame) -> bool:
    file = frame.file.replace("\\", "/")
    return not any(part in file for part in _LIBRARIES) and not _is_entry_point(frame, file)


def _is_entry_point(frame: Frame, file: str) -> bool:
    """Whether a line is of a script that an installer has written, which only calls a package."""
    *_, folder, name = ("", "", *file.split("/"))
    is_script = folder in ("bin", "Scripts") and not name.endswith(".py")
    return is_script and frame.name == "<module>" and frame.source.startswith("sys.exit(")


def shown(frame: Frame) -> str:
    source = frame.source[:LONGEST_SOURCE]
    return f"{frame.file}:{frame.line}  {source}" if source else f"{frame.file}:{frame.line}"


@dataclass(frozen=True, slots=True)
class Scene:
    """A line of the program, and the frames below it."""

    own: Frame | None
    frames: tuple[Frame, ...]

    @property
    def text(self) -> str:
        """What failed, as the line writes it."""
        return "" if self.own is None else _expression_text(self.own)

    @property
    def node(self) -> ast.expr | None:
        return parsed(self.text)

    @property
    def calls_layer(self) -> bool:
        """Whether the line has called a layer of torch.nn."""
        return self._is_above("torch/nn/modules/", "forward")

    @property
    def steps(self) -> bool:
        """Whether the line has called an optimizer of torch."""
        return self._is_above("torch/optim/", "step")

    def _is_above(self, folder: str, function: str) -> bool:
        if self.own is None:
            return False
        return any(
            folder in frame.file.replace("\\", "/") and frame.name.rpartition(".")[2] == function
            for frame in self.frames[self.frames.index(self.own) + 1 :]
        )

    def creation(self, name: str) -> tuple[int, ast.Call] | None:
        """The call on a line shown above that has given a name its value."""
        near = {} if self.own is None else self.own.near
        line = 0 if self.own is None else self.own.line
        for number in sorted((each for each in near if each < line), reverse=True):
            node = _statement(near[number])
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                return (number, node.value) if isinstance(node.value, ast.Call) else None
        return None


def _expression_text(frame: Frame) -> str:
    """What is marked, or what the statement computes."""
    marked = frame.marked[:LONGEST_SOURCE]
    node = _statement(marked)
    if isinstance(node, ast.Raise):
        return ""  # somebody else's error, told again
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return, ast.AnnAssign)):
        if not isinstance(node, ast.AugAssign) and node.value is not None:
            return ast.unparse(node.value)
    return marked


def _statement(text: str) -> ast.stmt | None:
    text = text.strip()[:LONGEST_SOURCE]
    try:
        body = ast.parse(f"{text}\n pass" if text.endswith(":") else text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return body[0] if len(body) == 1 else None


def parsed(text: str) -> ast.expr | None:
    node = _statement(text)
    return node.value if isinstance(node, ast.Expr) else None


def parts_of(node: ast.AST | None) -> Iterator[ast.expr]:
    """What an expression works on, each once."""
    waiting: list[ast.AST] = [] if node is None else [node]
    seen: set[str] = set()
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, (ast.BinOp, ast.Compare)):
            waiting += [
                child for child in ast.iter_child_nodes(part) if isinstance(child, ast.expr)
            ]
        elif isinstance(part, (ast.List, ast.Tuple)):
            waiting += part.elts
        elif isinstance(part, ast.Call) and part is node:
            receiver = part.func.value if isinstance(part.func, ast.Attribute) else None
            if isinstance(receiver, ast.Name) and receiver.id not in ("torch", "F", "nn", "self"):
                waiting.append(receiver)
            waiting += [*part.args, *(keyword.value for keyword in part.keywords)]
        elif isinstance(part, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            text = ast.unparse(part)
            if text not in seen:
                seen.add(text)
                yield part
