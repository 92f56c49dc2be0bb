"""What a file is for, as far as its place in a project and its words tell."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import PurePath

from devlint import ir
from devlint.flow.facts import Role
from devlint.flow.syntax.walk import descendants

_TESTS = re.compile(r"tests?|testing|unittests?")
_TEST_FILE = re.compile(r"test_.*|.*_test|conftest")
_DATA = re.compile(
    r"data|datasets?|data_?io|(data_?)?loaders?|data_?parsers?|data_?sets?|pre_?process(ing|ors?)?"
    r"|collat(e|ors?|ion)|transforms?|tokeniz(ers?|ation)|conver(t|ters?|sion)|visuali[sz](ations?|ers?|ing)"
)
_DATA_FILE = re.compile(
    r"data(sets?|loaders?)?|.*_datasets?|.*_dataloaders?|pre_?process.*|(.*_)?transforms?"
    r"|(.*_)?collat(e|ors?|ion)(_.*)?|convert_.*|.*_(reader|samplers?)"
    r"|.*visuali[sz].*|plot(s|ting|ter)?|.*_plot(s|ting|ter)?"
)
_NEAR = 2
"""How many folders above a file say what it is for."""

_DEVICE_WORDS = re.compile(r"\bcuda\b|\bdevice\b|gpu|accelerator|map_location")
_SIGNS = (".to", "cuda", "device", "gpu", "accelerator", "map_location")
"""One of these stands in each file in which something speaks of devices."""


def role_of_file(filename: str) -> Role:
    """`TEST` and `DATA` by the names of the file and of the folders near it, else `PLAIN`."""
    path = PurePath(filename)
    stem, folders = path.stem.lower(), [part.lower() for part in path.parts[:-1]][-_NEAR:]
    if _TEST_FILE.fullmatch(stem) or any(map(_TESTS.fullmatch, folders)):
        return Role.TEST
    if _DATA_FILE.fullmatch(stem) or any(map(_DATA.fullmatch, folders)):
        return Role.DATA
    return Role.PLAIN


def speaks_of_devices(text: str, module: ir.Module) -> bool:
    """Whether the code of a file names a device or moves something, anywhere. What comments and
    docstrings say of devices changes nothing."""
    lower = text.lower()
    if not any(sign in lower for sign in _SIGNS):
        return False
    said: set[ir.Node] = set()
    for node in chain.from_iterable(map(descendants, module.body)):
        if isinstance(node, ir.Evaluate) and isinstance(node.value, ir.Constant):
            said.add(node.value)
        elif node not in said and _is_sign(node):
            return True
    return False


def _is_sign(node: ir.Node) -> bool:
    match node:
        case ir.Call(func=ir.Attribute(attr="to" | "cuda")):
            return True
        case ir.Name(id=word) | ir.Attribute(attr=word) | ir.Constant(value=str(word)):
            return _speaks(word)
        case ir.Parameter(name=word) | ir.Function(name=word) | ir.Class(name=word):
            return _speaks(word)
        case ir.Argument(keyword=str(word)):
            return _speaks(word)
        case ir.Alias(name=word, asname=other):
            return _speaks(word) or _speaks(other or "")
        case ir.ImportFrom(module=word):
            return _speaks(word)
    return False


def _speaks(word: str) -> bool:
    return _DEVICE_WORDS.search(word.lower()) is not None
