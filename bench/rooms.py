"""Where the time of a cold run goes, by the rooms of devlint.

    python bench/rooms.py                       30 files of each of speed.py's groups
    python bench/rooms.py --sample 0            all of them
    python bench/rooms.py --paths src tests     files of your own
    python bench/rooms.py --functions 20        and the functions that take most

A run in one process is interrupted every few milliseconds of its CPU time, and what runs then is
noted: the package or module of devlint, and of `flow` and `source` the part. What Python's library
does counts for the one that called it, except for imports, the garbage collector, Python's parser
and LibCST. The table is in Markdown, as docs/speed.md has it.
"""

from __future__ import annotations

import argparse
import signal
import tempfile
from collections import Counter
from pathlib import Path, PurePath
from types import FrameType

import speed

EVERY = 0.001
"""Seconds; Linux has it wait for a tick of its clock, most often four times as long."""


def room_of(frame: FrameType | None) -> tuple[str, str]:
    """The room that a frame works for, and the function in it."""
    while frame is not None:
        path, function = PurePath(frame.f_code.co_filename), frame.f_code.co_name
        if path.name.startswith("<frozen importlib"):
            return "imports", ""
        if (path.name, function) == ("ast.py", "parse"):
            return "Python's parser", ""
        if (path.name, function) == ("pool.py", "_collect"):
            return "garbage collector", ""
        if "libcst" in path.parts:
            return "LibCST", ""
        if "devlint" in path.parts and "bench" not in path.parts:
            inside = path.parts[len(path.parts) - path.parts[::-1].index("devlint") :]
            return _name(inside), f"{'/'.join(inside)}: {function}"
        frame = frame.f_back
    return "Python's start and end", ""


def _name(inside: tuple[str, ...]) -> str:
    """The room of a module, by its path in the package."""
    first, second = inside[0], PurePath(inside[-1]).stem
    if first == "source":
        return "source: lowering" if second.startswith("lower") else "source: the rest"
    return f"flow/{inside[1]}" if first == "flow" and len(inside) > 2 else PurePath(first).stem


def sampled(root: Path) -> Counter[tuple[str, str]]:
    """How often each function was seen while the files below a folder were linted."""
    found = Counter[tuple[str, str]]()

    def note(_: int, frame: FrameType | None) -> None:
        found[room_of(frame)] += 1

    signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    from devlint.cli import main as run

    run(["check", "--isolated", "--jobs=1", "--no-cache", "--silent", "--exit-zero", str(root)])
    signal.setitimer(signal.ITIMER_PROF, 0)
    return found


def table(found: Counter[tuple[str, str]]) -> str:
    """Rooms and their shares as Markdown; those of less than a half percent are together."""
    rooms, total = Counter[str](), found.total()
    for (room, _), count in found.items():
        rooms[room] += count
    small = {room: count for room, count in rooms.items() if count < 0.005 * total}
    rooms -= Counter(small)
    rows = [*rooms.most_common(), ("others: " + ", ".join(sorted(small)), sum(small.values()))]
    shares = (f"| {room} | {count / total:.1%} |".replace("%", " %") for room, count in rows)
    return "\n".join(["| room | share |", "|---|---|", *shares])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    speed.add_files(parser)
    parser.add_argument("--functions", type=int, default=0, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "files")
        files = [each for group in speed.choose(options).values() for each in group]
        lines = speed.copy(files, root)
        found = sampled(root)
    print(f"{len(files):,} files, {lines:,} lines, {found.total():,} samples\n\n{table(found)}\n")
    for (room, function), count in found.most_common(options.functions):
        print(f"{count / found.total():6.1%}  {function or room}")


if __name__ == "__main__":
    main()
