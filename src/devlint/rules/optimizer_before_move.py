"""DEV403: the state of an optimizer stays where it was when its parameters move."""

from __future__ import annotations

from collections.abc import Iterator

from devlint.flow.facts import LeftState
from devlint.model.reports import Report
from devlint.rules import rule

_WORDS = {
    "built": "{} makes its state when it is built, and it stays behind when the parameters move",
    "loaded": "the state of {} is loaded before its parameters move, and stays behind",
    "stepped": "the state of {} is made by this step, and stays behind when its parameters move",
    "replaced": "{} is built before the move that gives the module new parameters: it keeps the "
    "old ones",
}
_HELP = {
    "built": "move the module first, then build the optimizer",
    "loaded": "move the module first, then call `load_state_dict`",
    "stepped": "move the module before the first step",
    "replaced": "build the optimizer after the move",
}


@rule("optimizer-before-move", on=LeftState)
def optimizer_before_move(left: LeftState) -> Iterator[Report]:
    """Report what put the state where it is."""
    yield Report(
        at=left.node,
        message=_WORDS[left.reason].format(f"`{left.optimizer}`"),
        because=left.because,
        help=_HELP[left.reason],
    )
