"""Warnings: shown at the lines at which they would be shown without devlint.

A warning names the line of a frame that is so many calls up the stack, and the modes of an
emulation or a tracing, and the guard, put calls of their own between a program and torch.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch.overrides

from devlint.runtime.explaining.stack import owner_of
from devlint.runtime.patches import Patches, Shared

_HANDING_OVER = torch.overrides.handle_torch_function.__code__


def _patch(patches: Patches) -> None:
    """Patch what Python calls for each warning that its filters let through."""
    show = getattr(warnings, "_showwarnmsg", None)  # what is public, recording replaces
    if show is not None:
        patches.set(warnings, "_showwarnmsg", _shown_where_it_belongs(show))


WARNINGS = Shared(_patch)
"""Held by whoever puts calls between a program and torch."""


def _shown_where_it_belongs(show: Callable[[Any], None]) -> Callable[[Any], None]:
    def shown(message: Any) -> None:
        frames = [frame for frame, _ in traceback.walk_stack(sys._getframe(1))]
        is_ours = message.category.__module__ == "devlint"
        is_right = is_ours or frames[0].f_code is shown.__code__
        to_blame = None if is_right else _to_blame(message, frames)
        if to_blame is None:
            show(message)
            return
        wrong, right = to_blame
        text = str(message.message)
        # Filters, and what has been shown already, go by the line: they are asked once more.
        wrong.f_globals.get("__warningregistry__", {}).pop(
            (text, message.category, message.lineno), None
        )
        warnings.onceregistry.pop((text, message.category), None)  # type: ignore[attr-defined]
        warnings.warn_explicit(
            message.message,
            message.category,
            right.f_code.co_filename,
            right.f_lineno,
            right.f_globals.get("__name__"),
            right.f_globals.setdefault("__warningregistry__", {}),
            source=message.source,
        )

    return shown


def _to_blame(message: Any, frames: list[FrameType]) -> tuple[FrameType, FrameType] | None:
    """The frame that a warning names, and the one that it would name; nothing if it is right."""
    level = next(
        (
            level
            for level, frame in enumerate(frames)
            if (frame.f_code.co_filename, frame.f_lineno) == (message.filename, message.lineno)
        ),
        -1,
    )
    programs = _without_ours(frames)
    if frames[: level + 1] == programs[: level + 1] or not programs:
        return None
    return frames[level], programs[min(level, len(programs) - 1)]


def _without_ours(frames: list[FrameType]) -> list[FrameType]:
    """The frames of a stack as they would be without modes: each function is called once."""
    kept: list[FrameType] = []
    handed_over = False
    for frame in frames:
        if frame.f_code is _HANDING_OVER:
            handed_over = True
        elif handed_over:
            handed_over = False  # the call of a function that has asked the modes first
        elif owner_of(frame.f_code.co_filename) != "devlint":
            kept.append(frame)
    return kept
