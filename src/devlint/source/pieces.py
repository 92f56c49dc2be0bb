"""The parts of an f-string or a template string, put together."""

from __future__ import annotations

from devlint.model import ir


class Pieces:
    """Collects the parts of an `ir.Text`: literal pieces that touch become one, empty ones none."""

    __slots__ = ("_found", "_origin", "_text")

    def __init__(self) -> None:
        self._found: list[ir.Expr] = []
        self._text = ""
        self._origin: object = None

    def text(self, text: str, origin: object) -> None:
        """Add a literal piece: its value, escapes resolved."""
        if not self._text:
            self._origin = origin
        self._text += text

    def expression(self, value: ir.Expr, specification: tuple[ir.Expr, ...] = ()) -> None:
        """Add an expression and the parts of its format specification."""
        self._flush()
        self._found.append(value)
        self._found.extend(specification)

    def parts(self) -> tuple[ir.Expr, ...]:
        """All that was added, in order."""
        self._flush()
        return tuple(self._found)

    def _flush(self) -> None:
        if self._text:
            self._found.append(ir.Constant(self._text, self._origin))
            self._text = ""
