"""What a docstring says of the arguments of a function.

Three ways to write that are read, Google's, Sphinx's and NumPy's; what the words for a type are
taken to mean are rows of `names.toml`.
"""

from __future__ import annotations

import re

from devlint.policy.hypotheses import means

_NONE = re.compile(r"\s+or\s+None\b|\s*\|\s*None\b")
_GOOGLE = re.compile(
    r"^[ \t]*(?P<name>\w+)[ \t]*\((?P<type>[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)[ \t]*:", re.M
)
_SPHINX = re.compile(r"^[ \t]*:param[ \t]+(?P<type>[\w.]+)[ \t]+(?P<name>\w+)[ \t]*:", re.M)
_TYPED = re.compile(r"^[ \t]*:type[ \t]+(?P<name>\w+)[ \t]*:[ \t]*(?P<type>.+)$", re.M)
_NUMPY = re.compile(r"^[ \t]*(?P<name>\w+)[ \t]+:[ \t]+(?P<type>.+)$", re.M)


def tensors(text: str) -> frozenset[str]:
    """The names of the arguments that a docstring calls tensors."""
    if "ensor" not in text:
        return frozenset()
    return frozenset(
        told["name"]
        for style in (_GOOGLE, _SPHINX, _TYPED, _NUMPY)
        for told in style.finditer(text)
        if means("tensor", _NONE.sub("", told["type"].strip()), "docstring")
    )
