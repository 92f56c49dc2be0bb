"""What other tools say of the lines that devlint's rule pages mark as wrong.

    python bench/peers.py --peers PYTHON     a table, as docs/comparison.md has it

PYTHON is the interpreter of another environment, with torch and the tools: torchfix 0.7.0, which
needs an older LibCST than devlint, flake8, ruff, mypy and pyright.

Each Python block of a page that marks errors becomes a file, and so do the right blocks of the
page. A tool finds a line where it reports something on it that it doesn't report in the right
blocks: else it is about another thing, such as a missing docstring. The pages are devlint's own, so
the table says what others cover of them, and nothing of what they find besides.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from devlint.config.rulebook import pages

FAMILIES = {
    "DEV1": "portability",
    "DEV2": "two devices meet",
    "DEV3": "the wrong object or argument",
    "DEV4": "state that stays behind",
    "DEV5": "copies, waits and workers",
}
Found = dict[str, set[tuple[int, str]]]
"""The reports of a tool: rows and codes, by the names of files."""
_MARK = re.compile(r"#[ \t]*error:")
_MYPY = re.compile(r"(?P<file>[^:\n]+):(?P<row>\d+):.*?\[(?P<code>[\w-]+)\]$", re.MULTILINE)
_FLAKE8 = re.compile(r"(?P<file>[^:\n]+):(?P<row>\d+):\d+:? (?P<code>\w+)", re.MULTILINE)


@dataclass
class Wrong:
    """A block that marks errors, and the right blocks of its page."""

    family: str
    name: str
    rows: list[int]
    right: list[str] = field(default_factory=list)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peers", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--tool", choices=TOOLS, action="append", help="these alone")
    options = parser.parse_args()
    chosen = options.tool or list(TOOLS)
    with tempfile.TemporaryDirectory(prefix="devlint-peers-") as place:
        folder = Path(place)
        wrong = write(folder)
        counts = {name: count(wrong, TOOLS[name](folder, options.peers)) for name in chosen}
    marked = Counter[str]()
    for each in wrong:
        marked[each.family] += len(each.rows)
    print("| family | lines |", " | ".join(chosen), "|")
    print("|---|---|" + "---|" * len(chosen))
    for family, about in FAMILIES.items():
        cells = (str(counts[name][family]) for name in chosen)
        print(f"| {family}, {about} | {marked[family]} |", " | ".join(cells), "|")
    totals = (str(sum(counts[name].values())) for name in chosen)
    print(f"| all | {sum(marked.values())} |", " | ".join(totals), "|")
    return 0


def write(folder: Path) -> list[Wrong]:
    """Write all blocks as files; what is wrong in them."""
    found = []
    for page in pages().values():
        if page.code[:4] not in FAMILIES:
            continue
        right, wrong = [], []
        for number, block in enumerate(each for each in page.blocks if each.kind):
            name = f"{page.code.lower()}_{number}.py"
            (folder / name).write_text(block.text)
            if block.kind != "error":
                right.append(name)
                continue
            lines = block.text.splitlines()
            rows = [row for row, line in enumerate(lines, start=1) if _MARK.search(line)]
            plain = (re.sub(r"[ \t]*#[ \t]*error:.*", "", line) for line in lines)
            (folder / name).write_text("\n".join(plain) + "\n")
            wrong.append(Wrong(page.code[:4], name, rows))
        for each in wrong:
            each.right = right
        found += wrong
    return found


def count(wrong: list[Wrong], found: Found) -> Counter[str]:
    """The marked lines that a tool finds, by family."""
    counts = Counter[str]()
    for each in wrong:
        anyway = {code for name in each.right for _, code in found.get(name, ())}
        told = {row for row, code in found.get(each.name, ()) if code not in anyway}
        counts[each.family] += len(told.intersection(each.rows))
    return counts


def run(folder: Path, python: str, *words: str) -> str:
    """What a tool prints; its exit code says that it has found something."""
    command = [python, "-m", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def _lines(text: str, pattern: re.Pattern[str]) -> Found:
    found: Found = {}
    for each in pattern.finditer(text):
        found.setdefault(Path(each["file"]).name, set()).add((int(each["row"]), each["code"]))
    return found


def devlint(folder: Path, _: str) -> Found:
    """With all rules."""
    words = ("--isolated", "--no-cache", "--pedantic", "--select=ALL", "--output-format=json")
    text = run(folder, sys.executable, "devlint", *words)
    found: Found = {}
    for each in json.loads(text):
        place = each["filename"], each["location"]["row"]
        found.setdefault(place[0], set()).add((place[1], each["code"]))
    return found


def torchfix(folder: Path, python: str) -> Found:
    """With all of its rules, as a plugin of flake8."""
    return _lines(run(folder, python, "flake8", "--isolated", "--select=TOR", "."), _FLAKE8)


def ruff(folder: Path, python: str) -> Found:
    """With all rules."""
    text = run(folder, python, "ruff", "check", "--isolated", "--no-cache", "--select=ALL",
               "--output-format=concise", ".")  # fmt: skip
    return _lines(text, _FLAKE8)


def mypy(folder: Path, python: str) -> Found:
    """Strictly."""
    names = sorted(each.name for each in folder.glob("*.py"))
    return _lines(run(folder, python, "mypy", "--strict", "--no-incremental", *names), _MYPY)


def pyright(folder: Path, python: str) -> Found:
    """Strictly."""
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    report = json.loads(run(folder, python, "pyright", "--outputjson", "--pythonpath", python))
    found: Found = {}
    for each in report["generalDiagnostics"]:
        row, code = each["range"]["start"]["line"] + 1, each.get("rule", "")
        found.setdefault(Path(each["file"]).name, set()).add((row, code))
    return found


TOOLS: dict[str, Callable[[Path, str], Found]] = {
    "devlint": devlint,
    "torchfix": torchfix,
    "ruff": ruff,
    "mypy": mypy,
    "pyright": pyright,
}

if __name__ == "__main__":
    sys.exit(main())
