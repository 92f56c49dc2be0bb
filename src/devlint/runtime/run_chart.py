"""When copies and waits happened, as a picture in a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from devlint.report.html.markup import text
from devlint.runtime.transfers import WAITS, size_text

_CLASSES = {
    "host to device": "in",
    "device to host": "out",
    "device to device": "across",
    WAITS: "wait",
}
_LEFT, _WIDTH = 70, 720
_COPIES, _WAITS, _GAP = 120, 60, 22


def chart(timeline: Mapping[str, Any]) -> str:
    """The timeline of a record: bytes that are copied, by direction, and waits below."""
    rows: Mapping[str, Sequence[int]] = timeline["rows"]
    copies = [name for name in _CLASSES if name in rows and name != WAITS]
    count = max(map(len, rows.values()), default=1)
    sums = [sum(rows[name][index] for name in copies) for index in range(count)]
    waits = rows.get(WAITS, [0] * count)
    base = 14 + _COPIES
    below = base + _GAP + _WAITS
    scale, unit = _unit(timeline["seconds"])
    parts = [
        *_axis(base, _COPIES, max(sums), size_text, "copied"),
        *_stacked([(name, rows[name]) for name in copies], count, base, max(sums)),
        *_axis(below, _WAITS, max(waits), "{:,}".format, "waits"),
        *_stacked([(WAITS, waits)], count, below, max(waits)),
    ]
    span = max(count * timeline["bucket_seconds"], timeline["seconds"]) / scale
    for index in range(5):
        x = _LEFT + _WIDTH * index / 4
        anchor = "end" if index == 4 else "middle"
        words = f"{span * index / 4:.3g}{f' {unit}' if index == 4 else ''}"
        parts.append(f'<text x="{x:g}" y="{below + 16}" text-anchor="{anchor}">{words}</text>')
    said = (
        f"{size_text(sum(sums))} copied and {sum(waits):,} waits in {timeline['seconds']:.3g} "
        "seconds, as bars over time"
    )
    legend = "".join(
        f'<li><span class="key {_CLASSES[name]}"></span> {text(name)}</li>'
        for name in (*copies, *([WAITS] if WAITS in rows else []))
    )
    return (
        f'<svg class="chart" viewBox="0 0 {_LEFT + _WIDTH + 10} {below + 22}" role="img" '
        f'aria-label="{text(said)}">\n{"".join(parts)}\n</svg>\n'
        f'<ul class="legend" aria-label="Colours">{legend}</ul>\n'
        f'<p class="sure">Each bar {_duration(timeline["bucket_seconds"])}, since '
        f"{text(_clock(timeline['started']))}.</p>\n"
    )


def _axis(
    base: int, height: int, most: int, words: Callable[[int], str], name: str
) -> Iterator[str]:
    """The line below bars, the one at the height of the largest, and what they stand for."""
    for y, amount in ((base, "0"), (base - height, words(most) if most else "")):
        yield f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{text(amount)}</text>'
    yield f'<text x="{_LEFT - 6}" y="{base - height // 2 + 4}" text-anchor="end">{name}</text>'


def _stacked(
    rows: Sequence[tuple[str, Sequence[int]]], count: int, base: int, most: int
) -> Iterator[str]:
    height = _WAITS if rows and rows[0][0] == WAITS else _COPIES
    width = _WIDTH / count
    for index in range(count):
        y = float(base)
        for name, amounts in rows:
            if amounts[index]:
                tall = height * amounts[index] / most
                y -= tall
                yield (
                    f'<rect class="{_CLASSES[name]}" x="{_LEFT + index * width:.2f}" y="{y:.2f}" '
                    f'width="{max(width - 0.5, 0.5):.2f}" height="{tall:.2f}"/>'
                )


def _unit(seconds: float) -> tuple[float, str]:
    for scale, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 3 * scale:
            return scale, unit
    return 1, "seconds"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.3g} min"


def _clock(started: str) -> str:
    return started.replace("T", " ").replace("+00:00", " UTC")
