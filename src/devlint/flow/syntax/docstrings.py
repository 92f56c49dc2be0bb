"""What a docstring says of the arguments: which ones are tensors.

Three ways to write that are read, Google's, Sphinx's and NumPy's. Whoever documents a type claims
no less than whoever annotates it; a type with a choice in it (`Tensor or list`) claims nothing.
"""

from __future__ import annotations

import re

from devlint.model import ir

_TENSOR = re.compile(
    r"(?::\w+:)?[`~]*(?:torch\.)?"
    r"(?:(?:Bool|Byte|Double|Float|Half|Int|Long)?Tensor|tensor)`*"
    r"(?P<rest>(?:\s*[,\[(]|\s+(?:of|with)\b|\s*\||\s+or\s+None\b).*)?"
)
_CHOICE = re.compile(r"\b(?:or|list|tuple|dict|array|ndarray|sequence)\b|[|/]", re.IGNORECASE)
_NONE = re.compile(r"\s+or\s+None\b|\s*\|\s*None\b")

_GOOGLE = re.compile(
    r"^[ \t]*(?P<name>\w+)[ \t]*\((?P<type>[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)[ \t]*:", re.M
)
_SPHINX = re.compile(r"^[ \t]*:param[ \t]+(?P<type>[\w.]+)[ \t]+(?P<name>\w+)[ \t]*:", re.M)
_TYPED = re.compile(r"^[ \t]*:type[ \t]+(?P<name>\w+)[ \t]*:[ \t]*(?P<type>.+)$", re.M)
_NUMPY = re.compile(r"^[ \t]*(?P<name>\w+)[ \t]+:[ \t]+(?P<type>.+)$", re.M)


def tensors(function: ir.Function) -> frozenset[str]:
    """The names of the arguments that a docstring calls tensors."""
    text = _docstring(function)
    if "ensor" not in text:
        return frozenset()
    return frozenset(
        told["name"]
        for style in (_GOOGLE, _SPHINX, _TYPED, _NUMPY)
        for told in style.finditer(text)
        if _is_tensor(told["type"])
    )


def _docstring(function: ir.Function) -> str:
    match function.body[:1]:
        case (ir.Evaluate(value=ir.Constant(value=str(text))),):
            return text
    return ""


def _is_tensor(text: str) -> bool:
    found = _TENSOR.fullmatch(_NONE.sub("", text.strip()))
    return found is not None and _CHOICE.search(found["rest"] or "") is None
