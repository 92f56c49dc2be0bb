"""The program's frames at an error, and which of them are calls of modules."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import entry_points
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Literal, cast

import torch
from torch import nn

Owner = Literal["program", "library", "python", "torch", "devlint"]
"""Whose a file is."""

_SEPARATORS = ("/", "\\")


def _folder(path: str) -> str:
    return path.rstrip("".join(_SEPARATORS)) + ("\\" if "\\" in path else "/")


_TORCH = _folder(str(Path(torch.__file__).parent))
_DEVLINT = _folder(str(Path(__file__).parents[2]))
_PYTHON = tuple(
    _folder(path) for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
)
_SCRIPTS = _folder(sysconfig.get_path("scripts"))
_PACKAGES = ("site-packages", "dist-packages")


@lru_cache(maxsize=4096)
def owner_of(file: str) -> Owner:
    """Whose a file is; what has no file (`<stdin>`, a notebook's cell) is the program's."""
    if file.startswith(_TORCH):
        return "torch"
    if file.startswith(_DEVLINT):
        return "devlint"
    if any(part in file for part in _PACKAGES) or _is_put_there(file):
        return "library"
    if file.startswith(_PYTHON) or file.startswith("<frozen "):
        return "python"
    return "library" if file.startswith(_SCRIPTS) and _is_entry_point(file) else "program"


def _is_put_there(file: str) -> bool:
    """Whether `pip install --target` has put a file into a folder from which modules come."""
    folders = (_folder(path) for path in sys.path if path)
    return any(
        file.removeprefix(folder).replace("\\", "/").partition("/")[0] in _put_into(folder)
        for folder in folders
        if file.startswith(folder)
    )


@lru_cache(maxsize=256)
def _put_into(folder: str) -> frozenset[str]:
    """The packages and modules of a folder that an installer has recorded there."""
    try:
        texts = [path.read_text("utf-8") for path in Path(folder).glob("*.dist-info/RECORD")]
    except (OSError, UnicodeDecodeError):
        return frozenset()
    lines = (line for text in texts for line in text.splitlines())
    return frozenset(line.partition(",")[0].partition("/")[0] for line in lines)


def _is_entry_point(file: str) -> bool:
    """Whether an installer has written a script, which only calls a function of a package."""
    name = Path(file.removeprefix(_SCRIPTS)).parts[0].removesuffix(".exe")
    return bool(entry_points(group="console_scripts", name=name))


def owner_of_frame(frame: FrameType) -> Owner:
    """Whose code a frame runs. What a package has written elsewhere and then run is its own."""
    code = frame.f_code
    owner = owner_of(code.co_filename)
    if owner != "program":
        return owner
    module = frame.f_globals.get("__name__")
    if module is None:  # what torch.fx has traced is of no module, but of a class of torch's
        module = vars(type(values_of(frame).get("self"))).get("__module__")
    return _writer_of(code.co_filename, module)


@lru_cache(maxsize=4096)
def _writer_of(file: str, module: object) -> Owner:
    """Who wrote a file that is in nobody's folder."""
    package, is_part, _ = module.partition(".") if type(module) is str else ("", "", "")
    held = vars(sys.modules[package]) if is_part and package in sys.modules else {}
    home, folders = held.get("__file__"), held.get("__path__", ())
    if type(home) is not str or any(file.startswith(_folder(str(path))) for path in folders):
        return "program"
    return owner_of(home)


def owner_of_class(kind: type) -> Owner:
    """Who wrote a class: its methods tell; one without any is taken for the program's."""
    for value in vars(kind).values():
        for code in _codes(value):
            return owner_of(code.co_filename)
    return "program"


def users_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the program from a frame on; if there is none, of a library."""
    within = None
    while frame is not None:
        owner = owner_of_frame(frame)
        if owner == "program":
            return frame
        if within is None and owner in ("library", "python"):
            within = frame
        frame = frame.f_back
    return within


@dataclass(frozen=True)
class Spot:
    """A frame, and where it is: a frame of a traceback has gone on since."""

    frame: FrameType
    line: int
    instruction: int
    """The offset of the instruction in the frame's code."""

    @property
    def code(self) -> CodeType:
        return self.frame.f_code

    @property
    def file(self) -> str:
        return self.frame.f_code.co_filename

    @cached_property
    def names(self) -> Mapping[str, Any]:
        """The values of the frame's own names. What nobody can write, as the iterator of a
        comprehension and the parts of an assertion that pytest keeps, is no name."""
        return {name: value for name, value in values_of(self.frame).items() if name.isidentifier()}

    @property
    def globals(self) -> Mapping[str, Any]:
        """The names of the module that the code belongs to."""
        return self.frame.f_globals

    @property
    def owner(self) -> Owner:
        return owner_of_frame(self.frame)


def values_of(frame: FrameType) -> Mapping[str, Any]:
    """What a frame keeps, by name, read without leaving a trace.

    Up to Python 3.12 a function's frame keeps the dictionary that it is asked for, and with it the
    values, however the names change: a tensor would stay alive for as long as the function runs.
    """
    code, held = frame.f_code, frame.f_locals
    if sys.version_info >= (3, 13) or not code.co_flags & CO_OPTIMIZED:
        return dict(held)
    values = dict(held)
    if sys.getrefcount(held) <= _NOBODY_ELSE:  # the program hasn't called `locals()`
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            held.pop(name, None)
    return values


_NOBODY_ELSE = 3
"""References to a dictionary that only its frame has: the frame's, a variable's, an argument's."""


def live(frame: FrameType | None = None) -> list[Spot]:
    """The stack of a running frame, its caller's unless one is given; the outermost first."""
    frame = sys._getframe(1) if frame is None else frame
    spots = []
    while frame is not None:
        spots.append(Spot(frame, frame.f_lineno or frame.f_code.co_firstlineno, frame.f_lasti))
        frame = frame.f_back
    return _without_ours(spots[::-1])


def raised(traceback: TracebackType | None) -> list[Spot]:
    """The stack of a caught error, from where it was caught; the outermost first."""
    spots = []
    while traceback is not None:
        spots.append(Spot(traceback.tb_frame, traceback.tb_lineno, traceback.tb_lasti))
        traceback = traceback.tb_next
    return _without_ours(spots)


def _without_ours(spots: list[Spot]) -> list[Spot]:
    return [spot for spot in spots if spot.owner != "devlint"]


@dataclass(frozen=True, slots=True)
class ModuleFrame:
    """A module at work: a call of it, or one of its methods that something else has called."""

    index: int
    """Of its outermost frame in the stack."""
    module: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None
    """None unless it was called."""

    @property
    def is_call(self) -> bool:
        return self.kwargs is not None


def modules_at_work(stack: Sequence[Spot]) -> list[ModuleFrame]:
    """The modules whose code is running, the outermost first."""
    found: list[ModuleFrame] = []
    machinery = False
    for index, spot in enumerate(stack):
        if _is_machinery(spot):
            local = spot.names
            module = as_module(local.get("self"))
            if module is None:
                continue
            args, kwargs = local.get("args", ()), local.get("kwargs", {})
            if machinery and found and found[-1].module is module:
                # The next frame of the same call: hooks may have changed the arguments.
                index = found.pop().index
            found.append(ModuleFrame(index, module, args, kwargs))
            machinery = True
            continue
        machinery = False
        method_of = _own_module(spot)
        if method_of is not None and not (found and found[-1].module is method_of):
            found.append(ModuleFrame(index, method_of))
    return found


def _is_machinery(spot: Spot) -> bool:
    """Whether a frame is torch's own way from a module's call to its `forward`."""
    return spot.code.co_name in ("_wrapped_call_impl", "_call_impl") and spot.owner == "torch"


def _own_module(spot: Spot) -> nn.Module | None:
    """The module whose method a frame runs."""
    name = own_name(spot)
    if not name and spot.code.co_name == "forward" and spot.code.co_argcount:
        name = spot.code.co_varnames[0]
    return as_module(spot.names.get(name)) if name else None


def hands_on(spot: Spot) -> bool:
    """Whether a frame of torch's calls a module with the arguments that it was called with."""
    code = spot.code
    return spot.owner == "torch" and code.co_name != "forward" and "args" in code.co_varnames


def own_name(spot: Spot) -> str:
    """What a method calls the object, or the class, that it is of; empty in a function."""
    code = spot.code
    if not code.co_argcount:
        return ""
    name = code.co_varnames[0]
    if name in ("self", "cls") or name not in spot.names:
        return name if name in ("self", "cls") else ""
    value = spot.names[name]
    kinds = [type(value), value] if issubclass(type(value), type) else [type(value)]
    return name if any(has_method(kind, code) for kind in kinds) else ""


def has_method(kind: type, code: CodeType) -> bool:
    """Whether a function is a method of a class, under its own name, that gets the object."""
    found = (vars(base).get(code.co_name) for base in kind.__mro__)
    return any(
        part is code for value in found if type(value) is not staticmethod for part in _codes(value)
    )


def as_module(value: object) -> nn.Module | None:
    """A value if it is a module. `isinstance` may ask the value, and so run code of its own."""
    return cast(nn.Module, value) if issubclass(type(value), nn.Module) else None


def is_method_of(module: nn.Module, file: str, first_line: int) -> bool:
    """Whether a function that begins there is in a module's class."""
    return any(
        (code.co_filename, code.co_firstlineno) == (file, first_line)
        for base in type(module).__mro__
        for value in list(vars(base).values())
        for code in _codes(value)
    )


def _codes(value: object) -> Iterator[CodeType]:
    """The code of a function, and of what decorators have put around it."""
    if type(value) is staticmethod or type(value) is classmethod:
        value = value.__func__
    elif type(value) is property:
        value = value.fget
    while type(value) is FunctionType:
        yield value.__code__
        value = value.__dict__.get("__wrapped__")
