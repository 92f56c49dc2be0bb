"""The report of transfers as files: JSON, and a picture of when and where they happened."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devlint.escaping import json_text, shown
from devlint.runtime.explaining.definitions import place_of, shortened
from devlint.runtime.transfers import NOTHING, WAITS, TransferLog, size_text

_TOP = 20
"""Lines of the program that are drawn."""
_LABEL = 58
"""Characters of a line's label."""
_COLOURS = {
    "host to device": "#0072B2",
    "device to host": "#E69F00",
    "device to device": "#009E73",
    WAITS: "#CC3311",
    "bytes": "#56779B",
}
"""Told apart by the colour-blind as well."""


def write_report(log: TransferLog, folder: Path) -> None:
    """Write `transfers.json` and `transfers.svg` into a folder, which is made if it isn't there.

    A file is replaced as a whole or not at all.

    Raises:
        OSError: where the folder or a file can't be written.
        ModuleNotFoundError: where matplotlib isn't installed; the JSON is written by then.
    """
    record = log.as_record()
    folder.mkdir(parents=True, exist_ok=True)
    with _replacing(folder / "transfers.json") as temporary:
        temporary.write_text(json_text(record, indent=2) + "\n", "utf-8")
    with _replacing(folder / "transfers.svg") as temporary:
        draw(record, temporary)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside a path, which takes its place unless something fails."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    held = os.umask(0o022)
    os.umask(held)
    return held


def draw(record: Mapping[str, Any], path: Path) -> None:
    """Draw the record of a `TransferLog`; the suffix of the path says in which format.

    Raises:
        ModuleNotFoundError: where matplotlib isn't installed.
        OSError: where the file can't be written.
    """
    try:
        import matplotlib.style
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        text = "a picture needs matplotlib: pip install 'devlint[report]'"
        raise ModuleNotFoundError(text, name=error.name) from error
    with matplotlib.style.context("default"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a font without the letters of somebody's source
        lines = _worst(record)
        figure = Figure(figsize=(12, _height(len(lines))), layout="constrained")
        if lines:
            _draw_all(figure, record, lines)
        else:
            figure.text(0.5, 0.5, NOTHING, ha="center", va="center", fontsize=13)
        options = {"metadata": {"Date": None}} if path.suffix == ".svg" else {"dpi": 120}
        figure.savefig(path, format=path.suffix.removeprefix(".") or "svg", **options)


Line = Mapping[str, Any]
"""A line of the program, as in the record."""


def _worst(record: Mapping[str, Any]) -> list[Line]:
    """The lines that are drawn: half of them may be there for their bytes alone."""
    lines = record["lines"]
    by_bytes = sorted(lines, key=lambda line: -line["bytes"])[: _TOP // 2]
    rest = [line for line in lines if not any(line is each for each in by_bytes)]
    chosen = [*by_bytes, *rest[: _TOP - len(by_bytes)]]
    return sorted(chosen, key=lambda line: (-line["waits"], -line["bytes"]))


def _label(line: Line) -> str:
    where = place_of(line["file"], line["line"]) if line["line"] else line["file"]
    if len(where) > _LABEL // 2:  # the end of a path tells most
        where = f".../{Path(where).name}"
    return shortened(shown(f"{where}  {line['source']}".rstrip()), _LABEL)


_TIMELINE = 4.2
"""Inches, as below."""


def _height(lines: int) -> float:
    return _TIMELINE + 0.9 + 0.3 * max(lines, 2) if lines else 3.0


def _draw_all(figure: Any, record: Mapping[str, Any], lines: list[Line]) -> None:
    figure.suptitle(_title(record), fontsize=14, fontweight="bold")
    above, below = figure.subfigures(
        2, 1, height_ratios=[_TIMELINE, _height(len(lines)) - _TIMELINE]
    )
    copies, waits = above.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    _draw_timeline(copies, waits, record)
    left, right = below.subplots(1, 2, sharey=True)
    hidden = len(record["lines"]) - len(lines)
    below.suptitle(f"By line{f', {hidden:,} others not shown' if hidden else ''}", fontsize=11)
    _draw_bars(left, lines, WAITS, "{:,}".format)
    _draw_bars(right, lines, "bytes", size_text)
    left.set_xlabel("times that the host waited")
    right.set_xlabel("bytes copied between devices")


def _title(record: Mapping[str, Any]) -> str:
    waits, copies = record["waits"], record["copies"]
    size = size_text(sum(record["bytes"].values()))
    parts = [f"{waits:,} wait{'s' * (waits != 1)} for a device"]
    if copies:
        whole = "copy" if copies == 1 else "copies"
        parts.append(f"{copies:,} {whole} between devices, {size}")
    return "; ".join(parts)


# --- when


def _draw_timeline(copies: Any, waits: Any, record: Mapping[str, Any]) -> None:
    timeline = record["timeline"]
    scale, unit = _time_unit(timeline["seconds"])
    width = timeline["bucket_seconds"] / scale
    rows = {name: row for name, row in timeline["rows"].items() if name != WAITS}
    count = max(map(len, timeline["rows"].values()), default=1)
    starts = [index * width for index in range(count)]
    base = [0] * count
    for name in (name for name in _COLOURS if name in rows):
        copies.bar(
            starts, rows[name], width, base, align="edge", label=name,
            color=_COLOURS[name], linewidth=0,
        )  # fmt: skip
        base = [below + amount for below, amount in zip(base, rows[name], strict=True)]
    counts = timeline["rows"].get(WAITS, [0] * count)
    waits.bar(starts, counts, width, align="edge", color=_COLOURS[WAITS], linewidth=0)
    waits.tick_params(axis="x", labelsize=8)
    each = _bucket_text(timeline["bucket_seconds"])
    copies.set_title(f"Over time, each bar {each}", fontsize=11)
    copies.set_ylabel("bytes copied")
    waits.set_ylabel("waits")
    waits.set_xlabel(
        f"{unit} since {timeline['started'].replace('T', ' ').replace('+00:00', ' UTC')}"
    )
    _style(copies, "y", max(base), size_text)
    _style(waits, "y", max(counts), "{:,}".format)
    waits.set_xlim(0, max(starts[-1] + width, timeline["seconds"] / scale))
    if rows:
        copies.legend(
            loc="lower right", bbox_to_anchor=(1, 1), ncols=len(rows), frameon=False,
            fontsize=9, borderaxespad=0.2,
        )  # fmt: skip


def _time_unit(seconds: float) -> tuple[float, str]:
    for scale, unit in ((3600, "hours"), (60, "minutes")):
        if seconds >= 3 * scale:
            return scale, unit
    return 1, "seconds"


def _bucket_text(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.3g} min"


# --- where


def _draw_bars(axes: Any, lines: Sequence[Line], what: str, text: Callable[[int], str]) -> None:
    rows, amounts = range(len(lines)), [line[what] for line in lines]
    drawn = axes.barh(rows, amounts, height=0.72, color=_COLOURS[what])
    said = [text(amount) if amount else "" for amount in amounts]
    axes.bar_label(drawn, said, padding=4, fontsize=8)
    axes.set_ylim(max(len(lines), 2) - 0.4, -0.6)
    axes.set_yticks(rows)
    axes.set_yticklabels(
        [_label(line) for line in lines], parse_math=False, family="monospace", size=8
    )
    axes.tick_params(axis="y", length=0)
    _style(axes, "x", max(amounts), text)


def _style(axes: Any, along: str, most: int, text: Callable[[int], str]) -> None:
    """Few round numbers along an axis, and lines only where they help to read it."""
    step = _step(most, 1000 if text is not size_text else 1024)
    ticks = list(range(0, int(most * 1.1) + 1, step))
    labels = ["0", *(text(tick).replace(".0 ", " ") for tick in ticks[1:])]
    if along == "y":
        axes.set_yticks(ticks, labels, fontsize=8)
        axes.set_ylim(0, most * 1.15 or 1)
    else:
        axes.set_xticks(ticks, labels, fontsize=8)
        axes.set_xlim(0, most * 1.2 or 1)
    axes.grid(axis=along, color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if not most:
        axes.text(0.5, 0.5, "none", transform=axes.transAxes, color="#777777", ha="center")


def _step(most: int, thousand: int) -> int:
    """A round number of which there are at most five in the largest amount."""
    base = 1
    while base * thousand <= most / 3:
        base *= thousand
    rounds = (1, 2, 5, 10, 20, 50, 100, 200, 500) if thousand == 1000 else [2**n for n in range(10)]
    return next((base * each for each in rounds if base * each * 5 >= most), base * thousand)
