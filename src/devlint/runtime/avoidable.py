"""Which copies and waits of a line can be avoided, and how: by what it was seen to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from devlint.runtime.waits import CHECKS, SIZES, VALUES

_VALUE = (
    "the value is read on the host: add it up on the device (`total += loss.detach()`) and read "
    "it once after the loop, or every few steps"
)
_SIZE = (
    "the size of the result depends on values: `torch.where(mask, x, other)` and sums weighted "
    "by a mask keep the shape"
)
_CHECK = (
    "the result is checked for errors: the variants that end in `_ex` (`torch.linalg.inv_ex`) "
    "leave that to the program"
)


def _names(functions: Iterable[Any]) -> Iterator[str]:
    return (function.__name__.strip("_") for function in functions)


_HOW = {
    **dict.fromkeys(_names(SIZES), _SIZE),
    **dict.fromkeys(_names(CHECKS), _CHECK),
    **dict.fromkeys(_names(VALUES), _VALUE),
    "where": _SIZE,
    "index with a mask": _SIZE,
    "index": "the index is read on the host: `torch.index_select` and `gather` take it where it is",
    "one_hot": "it looks for the largest value: pass `num_classes`",
    "repeat_interleave": "it adds up the repeats: pass `output_size`",
    "print": "print a tensor every few steps, or after the loop",
    "synchronize": "only time measurements need this, once for many steps",
}


def avoidable(line: Mapping[str, Any], steps: int) -> list[str]:
    """What can be done about the copies and waits of a line of a record, in sentences; nothing
    where it did them once, or in no training step."""
    often = line["waits"] + line["copies"] > 1
    inside = line["in_steps"]
    if not often or (steps and not inside["waits"] + inside["copies"]):
        return []
    return list(dict.fromkeys(_sentences(line)))


def _sentences(line: Mapping[str, Any]) -> Iterator[str]:
    again, copies = line["again"], line["copies"]
    if again:
        yield (
            f"{again:,} of {copies:,} copies are of a tensor that hasn't changed since the one "
            "before: copy it once, before the loop, and keep the copy"
        )
    for what in line["what"]:
        source, between, target = what.partition(" to ")
        if not between:
            if what in _HOW:
                yield _HOW[what]
        elif not line["waits"] or again + 1 >= copies:
            continue
        elif target == "cpu":
            yield (
                "the program waits for the copy: gather on the device and copy once after the "
                "loop, or begin it with `non_blocking=True` and synchronize before it is read"
            )
        elif source == "cpu":
            yield (
                "the program waits for the copy: from pinned memory (`DataLoader(..., "
                "pin_memory=True)`) with `non_blocking=True` it goes on"
            )
