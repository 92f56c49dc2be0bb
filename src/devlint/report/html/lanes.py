"""Lanes beside the source: where a value is made, where it moves, and where it meets another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from devlint.model.findings import Finding, Span, Step

MOST = 6
"""Lanes of one finding; of a value beyond these only the steps are told."""
_NAMED = ("cpu", "cuda", "mps", "xpu")
_UNKNOWN = ("", "an unknown device")


@dataclass(frozen=True, slots=True)
class Stop:
    """A step of a value. `device` is where it is from here on."""

    step: Step
    device: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A value, by what the source calls it, and its stops, the oldest first."""

    value: str
    stops: tuple[Stop, ...]

    @property
    def device(self) -> str:
        """Where the value is in the end."""
        return self.stops[-1].device

    @property
    def devices(self) -> list[str]:
        """Where it has been, each place once in a row."""
        places = [stop.device for stop in self.stops]
        return [place for index, place in enumerate(places) if places[index - 1 : index] != [place]]


@dataclass(slots=True)
class Cell:
    """A piece of a lane beside one row of source: the kinds of device above and below the middle
    of the row, "" where there is none, and what stands in the middle."""

    above: str = ""
    below: str = ""
    node: str = ""


@dataclass(slots=True)
class Drawing:
    """The pieces of all lanes, by the place of a row among those that are shown."""

    cells: list[list[Cell]] = field(default_factory=list)

    def at(self, place: int) -> list[Cell]:
        return [lane[place] for lane in self.cells]


def kind(device: str) -> str:
    """What a device is drawn as: a type, `device` where a run decides, `other` or `unknown`."""
    if device in _UNKNOWN:
        return "unknown"
    name = device.partition(":")[0]
    if name in _NAMED:
        return name
    return "other" if name.isalnum() else "device"


def label(device: str) -> str:
    """A device as a lane names it."""
    return "unknown" if device in _UNKNOWN else device


def lanes(finding: Finding) -> list[Lane]:
    """The lanes of a finding, in the order in which its trace tells of them."""
    steps: dict[str, list[Step]] = {}
    for step in finding.trace:
        if step.value:
            steps.setdefault(step.value, []).append(step)
    return [Lane(value, tuple(_stops(of_it))) for value, of_it in steps.items()][:MOST]


def _stops(steps: Sequence[Step]) -> Iterator[Stop]:
    """What a step doesn't tell is as the one before left it; before the first that tells a place,
    as that one says: a call that makes something is told before what it does."""
    device = next((step.device for step in steps if step.device), "")
    for step in steps:
        device = step.device or device
        yield Stop(step, device)


def clash(found: Sequence[Lane]) -> bool:
    """Whether two of them end on two devices."""
    return len({lane.device for lane in found}) > 1


def meeting(finding: Finding) -> Span:
    """Where what the finding is about comes together: at the finding, but where that is the place
    at which one of the values was made, at the last step that is about no value."""
    made = any(step.value and step.span == finding.span for step in finding.trace)
    others = [step for step in finding.trace if not step.value and not step.filename]
    return others[-1].span if made and others else finding.span


def drawn(
    found: Sequence[Lane],
    meets: Span,
    places: Mapping[tuple[str, int], int],
) -> Drawing:
    """Draw lanes beside rows. `places` has the place of each row that is shown, by its file, which
    is "" for that of the finding, and its number."""
    count = len(places)
    drawing = Drawing()
    end = places.get(("", meets.row))
    sign = "clash" if clash(found) else "end"
    for lane in found:
        cells = [Cell() for _ in range(count)]
        at = [
            (place, stop.device)
            for stop in lane.stops
            if (place := places.get((stop.step.filename, stop.step.span.row))) is not None
        ]
        path = [*at, *([] if end is None else [(end, lane.device)])]
        for (place, device), (following, _) in pairwise(path):
            first, last = sorted((place, following))
            for half in range(2 * first + 1, 2 * last + 1):
                cell = cells[half // 2]
                if half % 2:
                    cell.below = kind(device)
                else:
                    cell.above = kind(device)
        for index, (place, device) in enumerate(at):
            moved = index > 0 and device != at[index - 1][1]
            cells[place].node = f"{'move' if moved else 'stop'} {kind(device)}"
        if end is not None:
            cells[end].node = f"{sign} {kind(lane.device)}"
        drawing.cells.append(cells)
    return drawing
