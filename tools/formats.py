"""What the formats and the public functions look like, beside what tests/shapes/ says of them.

python tools/formats.py            tells what differs
python tools/formats.py --write    and writes it down, where no release has said otherwise
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import shapes  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    differ = False
    for name, now in shapes.files().items():
        path = shapes.FOLDER / name
        before = path.read_text().splitlines() if path.exists() else []
        if before == now:
            continue
        differ = True
        print(f"{name}:")
        print("".join(f"  - {line}\n" for line in before if line not in now), end="")
        print("".join(f"  + {line}\n" for line in now if line not in before), end="")
        if options.write:
            if name != "api.txt" and before and _is_released(path):
                raise SystemExit(f"{name} is released: raise the version, {needed(before, now)}")
            shapes.FOLDER.mkdir(exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in now))
    if differ and not options.write:
        raise SystemExit(1)


def needed(before: Sequence[str], now: Sequence[str]) -> str:
    """Which of the two numbers of a format's version a change of its shape raises."""
    return "the second number" if set(before) <= set(now) else "the first number"


def _is_released(path: Path) -> bool:
    git = ["git", "-C", str(ROOT)]
    tag = [*git, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]
    newest = subprocess.run(tag, capture_output=True, text=True).stdout.strip()
    known = [*git, "cat-file", "-e", f"{newest}:{path.relative_to(ROOT).as_posix()}"]
    return newest != "" and subprocess.run(known, capture_output=True).returncode == 0


if __name__ == "__main__":
    main()
