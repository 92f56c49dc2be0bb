"""What devlint leaves on an error: a note that Python prints, and the explanation as an object.

Both are written into the error's own dictionary. `add_note` does no more, is missing before Python
3.11, and would run code of the program where a class of errors guards its attributes.
"""

from __future__ import annotations

import logging
from typing import Any

NAME = "devlint_explanation"
"""The attribute of an error that has been explained."""


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an error, which Python prints below its text from version 3.11 on."""
    held = held_by(error)
    notes = held.get("__notes__")
    if notes is None:
        held["__notes__"] = [note]
    elif type(notes) is list:
        notes.append(note)


def log_failure() -> None:
    """Note that an explanation has failed: the program's own error comes first.

    It is a debug note of the logger `devlint`, with the traceback. devlint's own tests fail by it.
    """
    logging.getLogger("devlint").debug("an error could not be explained", exc_info=True)


def held_by(error: BaseException) -> dict[str, Any]:
    """The attributes that an error holds itself."""
    held: dict[str, Any] = object.__getattribute__(error, "__dict__")
    return held
