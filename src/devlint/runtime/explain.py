"""The explanation that goes with an error about devices: what, where, since when, and the repair.

PyTorch names an operator and two devices. What it can't name is in the frames of the error: the
module and the argument, the line where the tensor was made, the line that gave it to the model.
Frames and source are read, nothing of the program is run, and what isn't known isn't said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch

from devlint.config import rulebook
from devlint.runtime.explaining.definitions import shortened, shown_line
from devlint.runtime.explaining.diagnosis import diagnose
from devlint.runtime.explaining.mistakes import Mistake
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.explaining.stack import Spot
from devlint.runtime.operands import REAL, OperandFacts, Reader

_LABEL = 9
"""The width of a label."""
_WIDTH = 150
"""The width of a line."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is said of an error, as plain text."""

    headline: str
    lines: tuple[tuple[str, str], ...]
    """Each with a label."""
    code: str | None
    """Of the rule that speaks of this mistake, if there is one."""
    rule: str = ""
    """The name of that rule."""
    fix: str = ""
    """The repair; empty where none is known."""
    module: str = ""
    """The path and class of the module at work; empty where there is none."""
    argument: str = ""
    """The tensor that is in the wrong place, as the program writes it; empty if unknown."""
    devices: tuple[str, ...] = ()
    """Where that tensor is, and then where the others are."""
    is_mismatch: bool = False
    """Whether tensors of two devices met in one operation or one call."""
    place: tuple[str, int] = ("", 0)
    """The file and the line of the program that are to be looked at; empty where none is known."""

    def as_text(self, prefix: str = "") -> str:
        """The headline behind a prefix, and the lines below it."""
        body = (f"  {label:{_LABEL}}  {shortened(text, _WIDTH)}" for label, text in self.lines)
        return "\n".join((f"{prefix}{self.headline}", *body))

    def __str__(self) -> str:
        return self.as_text("devlint: ")


def explain(
    stack: Sequence[Spot],
    text: str,
    operands: Sequence[OperandFacts] = (),
    reader: Reader = REAL,
) -> Explanation | None:
    """Explain an error about devices; nothing if its text isn't about any, or nothing is known.

    Args:
        stack: the frames that were running, from `stack.live` or `stack.raised`.
        text: PyTorch's own text.
        operands: the tensors that the operation was given, where they are known.
        reader: how tensors are asked where they are.
    """
    with torch._C.DisableTorchFunction():
        scene = Scene(stack, reader)
        mistake = diagnose(scene, text, operands)
        return None if mistake is None else explanation_of(scene, mistake)


def explanation_of(scene: Scene, mistake: Mistake) -> Explanation:
    """A mistake as it is told to the user, with the line that runs."""
    spot = _own(scene)
    place = ("", 0) if spot is None else (spot.file, spot.line)
    return explained(mistake, _lines(scene, mistake), place)


def explained(
    mistake: Mistake, lines: Sequence[tuple[str, str]], place: tuple[str, int]
) -> Explanation:
    """A mistake as it is told to the user, with the repair and the rule at the end."""
    code = _code(mistake.rule)
    end = []
    if mistake.fix:
        end.append(("fix", f"{mistake.fix}  [{code}]" if code else mistake.fix))
    if code:
        end.append(("more", f"devlint rule {code}, {rulebook.page_url(mistake.rule)}"))
    return Explanation(
        headline=mistake.headline,
        lines=(*lines, *end),
        code=code,
        rule=mistake.rule,
        fix=mistake.fix,
        module=mistake.module,
        argument=mistake.argument,
        devices=mistake.devices,
        is_mismatch=mistake.is_mismatch,
        place=place,
    )


def _own(scene: Scene) -> Spot | None:
    """The innermost line of the program itself, or of a library where nothing else is known."""
    if scene.use < 0:
        return None
    own = (spot for spot in reversed(scene.stack) if spot.owner == "program")
    return next(own, scene.stack[scene.use])


def _lines(scene: Scene, mistake: Mistake) -> list[tuple[str, str]]:
    lines = list(mistake.lines)
    if scene.use >= 0:
        spot = scene.stack[scene.use]
        lines.append(("used at", shown_line(spot.file, spot.line)))
        if (inside := scene.inside) is not None:
            lines.append(("inside", shown_line(inside.file, inside.line)))
    return lines


@cache
def _code(rule: str) -> str | None:
    """The code of a rule; its page is the only one that is read."""
    if not rule:
        return None
    return rulebook.read_page(rulebook.rules_folder() / f"{rule}.md").code
