"""A type of CUDA as that of all tensors: `torch.set_default_tensor_type(torch.cuda.FloatTensor)`.

`torch.Tensor(x)` is of that type in all files of a program, also in those that never speak of CUDA.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst
import libcst.matchers as m

from devlint.config.sources import Source
from devlint.migrate.file import File, file_of
from devlint.migrate.scene import Default
from devlint.migrate.surroundings import groups, imported
from devlint.migrate.syntax import spelled
from devlint.safety import files
from devlint.source.errors import SourceError
from devlint.source.parsing import parsed
from devlint.source.reading import read_script
from devlint.source.script import Script

_TENSOR = re.compile(r"\bTensor\b")
_SETTER = m.Call(
    func=m.Attribute(attr=m.Name("set_default_tensor_type")) | m.Name("set_default_tensor_type"),
    args=[m.AtLeastN(n=1)],
)
_AVAILABLE = m.Call(func=m.Attribute(attr=m.Name("is_available")), args=[])


@dataclass(frozen=True, slots=True)
class _Silent:
    """A file without any word of CUDA."""

    source: Source
    data: bytes
    script: Script


def with_defaults(read: Sequence[File], sources: Sequence[Source]) -> list[tuple[File, Default]]:
    """The files of a migration, each with what is known of its default type: those that are read,
    and those of its sources that make tensors near one that sets a type."""
    own = {file.source.path: default_of(file.tree) for file in read}
    setting = {path for path, default in own.items() if default is not Default.NONE}
    if not setting:
        return [(file, Default.NONE) for file in read]
    known = {file.source.path: file for file in read}
    around = [known.get(source.path) or _silent(source) for source in sources]
    every = [file for file in around if file is not None]
    words = [(file.source.path, imported(file.script.text)) for file in every]
    found = []
    for file, group in zip(every, groups(words), strict=True):
        default = own.get(file.source.path, Default.NONE)
        if default is Default.NONE and any(every[each].source.path in setting for each in group):
            default = Default.SOMETIMES
        if isinstance(file, File):
            found.append((file, default))
        elif default is not Default.NONE and _TENSOR.search(file.script.text):
            found.append((file_of(file.source, file.data, file.script), default))
    return found


def _silent(source: Source) -> _Silent | None:
    """A file that wasn't read for its words; None where no program can import it."""
    if source.language == files.MARKDOWN:
        return None
    try:
        most = files.most_bytes(source.language, source.settings.max_file_size)
        data = files.read(source.path, most)
        script = read_script(data, source.path, source.language)
        parsed(script.text)
    except (OSError, SourceError):
        return None
    return _Silent(source, data, script)


def default_of(module: cst.Module) -> Default:
    """What a file itself makes the default type."""
    found = _Setters()
    module.visit(found)
    return found.default


class _Setters(cst.CSTVisitor):
    """Looks for calls that set a type of CUDA, and for conditions around them."""

    def __init__(self) -> None:
        super().__init__()
        self.default = Default.NONE
        self._conditions = 0

    def visit_If(self, node: cst.If) -> None:
        self._conditions += not m.matches(node.test, _AVAILABLE)

    def leave_If(self, original_node: cst.If) -> None:
        self._conditions -= not m.matches(original_node.test, _AVAILABLE)

    def visit_Call(self, node: cst.Call) -> None:
        if not m.matches(node, _SETTER) or "cuda" not in spelled(node.args[0].value):
            return
        if self._conditions:
            self.default = Default.SOMETIMES
        elif self.default is Default.NONE:
            self.default = Default.ALWAYS
