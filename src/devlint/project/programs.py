"""What the programs around a file decide before it runs: where its tensors are made.

A program is a file in a folder where imports may start; what it imports from beside it, and in the
packages that a file is in, others may do it for the programs (`utils.use_cuda()`). They are looked
over as text, quickly. A question is a path, as those of files are: a folder, and the first word by
which its programs import what is asked about, none in a package. So it can stand among what a
result hangs on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache

from devlint.project.importing import is_package, listing, starts
from devlint.safety import files

QUESTION = "?default"
"""How the path of a question ends."""
BY_DEVICE, BY_TYPE = "device", "type"
"""How a program sets where tensors are made: `torch.Tensor(...)` follows the type alone."""

_MOST = 50
"""Files in one folder. Where there are more, few of them are programs."""

_SETS_TYPE = re.compile(rb"^[^#\n]*set_default_tensor_type\(\s*['\"]?torch\.cuda", re.MULTILINE)
_SETS_DEVICE = re.compile(rb"^[^#\n]*set_default_device\(\s*(?!\s|['\"]cpu)", re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)


def questions(path: str) -> Iterator[str]:
    """Whether programs of these folders that import a file, or others in its packages, make tensors
    on an accelerator, unless told otherwise. Who is linted itself is seen to do so."""
    folder = os.path.dirname(path)
    for place in starts(folder):
        first = os.path.relpath(path, place).split(os.sep)[0].removesuffix(".py")
        if first != os.pardir:
            yield os.path.join(place, f"{first}{QUESTION}")
    while is_package(folder):
        yield os.path.join(folder, QUESTION)
        folder = os.path.dirname(folder)


def answer(question: str) -> str:
    """How one of them does; "" where none does."""
    place, first = os.path.split(question.removesuffix(QUESTION))
    names = [name for name in listing(place) if name.endswith(".py") and name != f"{first}.py"]
    if len(names) > _MOST:
        return ""
    found = {os.fsencode(name[:-3]): _outline_of(os.path.join(place, name)) for name in names}
    told = set[str]()
    for imports, how in found.values():
        if not first or os.fsencode(first) in imports:
            told |= {how, *(found[each][1] for each in imports & found.keys())}
    return max(told, default="")


def _outline_of(program: str) -> tuple[frozenset[bytes], str]:
    """The first words of what a program imports, and how it sets where tensors are made."""
    try:
        return _outline(program, files.version(os.stat(program)))
    except OSError:
        return frozenset(), ""


@lru_cache(maxsize=4096)
def _outline(program: str, _version: tuple[int, int, int]) -> tuple[frozenset[bytes], str]:
    data = files.read(program, files.LARGEST_SOURCE)
    how = BY_DEVICE if _SETS_DEVICE.search(data) is not None else ""
    how = BY_TYPE if _SETS_TYPE.search(data) is not None else how
    return frozenset(_IMPORT.findall(data)), how
