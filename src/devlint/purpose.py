"""What a file is for, as far as its place in a project and its words tell."""

from __future__ import annotations

import re
from pathlib import PurePath

from devlint.flow.facts import Role

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

_DEVICE_WORDS = re.compile(r"\bcuda\b|\bdevice\b")
_DEVICE_SIGNS = (".to(", ".cuda(", "gpu", "accelerator", "map_location")


def role_of_file(filename: str) -> Role:
    """`TEST` and `DATA` by the names of the file and of the folders near it, else `PLAIN`."""
    path = PurePath(filename)
    stem, folders = path.stem.lower(), [part.lower() for part in path.parts[:-1]][-_NEAR:]
    if _TEST_FILE.fullmatch(stem) or any(map(_TESTS.fullmatch, folders)):
        return Role.TEST
    if _DATA_FILE.fullmatch(stem) or any(map(_DATA.fullmatch, folders)):
        return Role.DATA
    return Role.PLAIN


def speaks_of_devices(text: str) -> bool:
    """Whether a file names a device or moves something, anywhere, in code or in words."""
    lower = text.lower()
    if any(sign in lower for sign in _DEVICE_SIGNS):
        return True
    return _DEVICE_WORDS.search(lower) is not None
