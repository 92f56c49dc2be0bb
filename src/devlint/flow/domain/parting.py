"""What tells two paths apart that part at a condition."""

from __future__ import annotations

from devlint.flow.domain.keys import LONGEST, stands_in
from devlint.model import ir
from devlint.model.trees import descendants, last_name


def path_words(key: str | None, test: ir.Expr | None) -> str | None:
    """The key of the condition that has parted two paths, unless it asks what an argument is. One
    that may change between two looks at it has none, but tells paths apart that part here and meet
    here: its text is a key for these."""
    if key is not None or test is None:
        return None if key is None or stands_in(key) else key
    text = ir.render(test, 2 * LONGEST)
    asks_else = isinstance(test, ir.Unary) or any(map(_asks_else, descendants(test)))
    return None if len(text) > LONGEST or asks_else or stands_in(text) else text


def _asks_else(node: ir.Node) -> bool:
    """Whether a part of a condition asks what an argument is, or whether it is there."""
    match node:
        case ir.Call(func=func):
            return last_name(func) in _ASK_ELSE
        case ir.Compare(op="is" | "is not", right=ir.Constant(value=None)):
            return True
    return False


_ASK_ELSE = frozenset(
    ("type", "isinstance", "issubclass", "is_tensor", "isscalar", "hasattr", "callable")
)
"""Functions that are asked what an argument is."""
