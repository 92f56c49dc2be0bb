"""The ways out of a function, taken together: what it returns, and the state that it leaves."""

from __future__ import annotations

from devlint.flow.domain.keys import ACCELERATOR_CHOSEN, DEVICE_ASKED, HOST_CHOSEN
from devlint.flow.domain.state import State
from devlint.flow.domain.state_joins import join_states
from devlint.flow.domain.value_joins import join_values
from devlint.flow.domain.values import Value

End = tuple[Value, State]


_BESIDE = frozenset((ACCELERATOR_CHOSEN, DEVICE_ASKED, HOST_CHOSEN))
"""Said of whole branches, beside the condition that leads into them."""


def together(ends: list[End], settled: frozenset[str] = _BESIDE) -> End:
    """What several `return`s give, each of which is reached under its own conditions.

    `if cuda: return a`, then `return b`, is a choice between two as much as `a if cuda else b`: a
    condition that holds at some of them and doesn't at all the others tells them apart. `settled`
    are those that tell none of these apart.
    """
    if len(ends) == 1:
        return ends[0]
    for key in [key for key in ends[0][1].known if key not in settled]:
        holding = [end for end in ends if end[1].known.get(key) is True]
        others = [end for end in ends if end[1].known.get(key) is False]
        if holding and others and len(holding) + len(others) == len(ends):
            within = settled | {key}
            return _join(together(holding, within), together(others, within), key)
    joined = ends[0]
    for end in ends[1:]:
        joined = _join(joined, end, None)
    return joined


def _join(a: End, b: End, key: str | None) -> End:
    return join_values(a[0], b[0], key), join_states(a[1], b[1], key)
