"""How many cases change by what says nothing of a program, and which.

python tools/metamorphic_cases.py                          the share of each transformation
python tools/metamorphic_cases.py --write                  writes tests/metamorphic/known.toml anew
python tools/metamorphic_cases.py split --show             what changes in which case
python tools/metamorphic_cases.py split --case 'ID'        the transformed case
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from literate import all_cases  # noqa: E402
from metamorphic import checking  # noqa: E402
from metamorphic.program import joined  # noqa: E402

HEAD = """\
# The cases in which something is found otherwise after a transformation that changes nothing of
# what the program does. Each is a decision on what says nothing: the list is to become empty.
# Written by `python tools/metamorphic_cases.py --write`.
"""


def differences(stem: str, names: list[str]) -> dict[str, dict[str, str]]:
    """What changes in each case of a Markdown file, by transformation."""
    cases = all_cases()[stem]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "area", "work")
        folder.mkdir(parents=True)
        checker = checking.Checker(folder)
        return {case.id: checker.differences(case, names) for case in cases}


def measure(names: list[str], jobs: int) -> dict[str, dict[str, str]]:
    """By transformation, what changes in the cases that it concerns."""
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    groups = list(all_cases())
    with ProcessPoolExecutor(jobs) as pool:
        for group in pool.map(differences, groups, [names] * len(groups)):
            for case, changes in group.items():
                for name, told in changes.items():
                    found[name][case] = told
    return found


def written(found: dict[str, dict[str, str]], before: str) -> str:
    """The list of what is known; what wasn't measured stays as it was before."""
    parts = [HEAD]
    for name in checking.TRANSFORMATIONS:
        if name not in found:
            kept = re.search(rf"^# .*\n{name} = \[(\n(    .*\n)*)?\]$", before, re.MULTILINE)
            parts.append(f"\n{kept[0] if kept else f'{name} = []'}\n")
            continue
        changed = sorted(case for case, told in found[name].items() if told)
        rows = "".join(f"    {_quoted(case)},\n" for case in changed)
        opened = "[\n" if rows else "["
        parts.append(f"\n# {_share(found[name])}\n{name} = {opened}{rows}]\n")
    return "".join(parts)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _share(cases: dict[str, str]) -> str:
    changed = sum(map(bool, cases.values()))
    return f"{changed} of {len(cases)} cases, {100 * changed / max(1, len(cases)):.1f} %"


def show(name: str, id: str) -> None:
    """Print a case as a transformation leaves it."""
    case = next(c for cases in all_cases().values() for c in cases if c.id == id)
    with tempfile.TemporaryDirectory() as scratch:
        checker = checking.Checker(Path(scratch))
        program = checking.program_of(case)
        changed = None if program is None else checker.transformation(name, case)(program)
        for file, lines in (changed or {}).items():
            print(f"# --- {file}\n{joined(lines)}")
        print(checker.differences(case, [name]).get(name, "not concerned") or "no difference")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help="transformations (default: all)")
    parser.add_argument("--write", action="store_true", help="write known.toml anew")
    parser.add_argument("--show", action="store_true", help="print what changes in which case")
    parser.add_argument("--case", help="print this case, transformed")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    unknown = set(options.names) - {*checking.TRANSFORMATIONS}
    if unknown:
        parser.error(f"no transformation: {', '.join(sorted(unknown))}")
    names = options.names or list(checking.TRANSFORMATIONS)
    if options.case:
        for name in names:
            show(name, options.case)
        return
    found = measure(names, options.jobs)
    for name, cases in found.items():
        print(f"{name:20} {_share(cases)}")
        for case, told in sorted(cases.items()) if options.show else ():
            if told:
                print(f"    {case}: {told}")
    if options.write:
        before = checking.KNOWN.read_text(encoding="utf-8") if checking.KNOWN.exists() else ""
        checking.KNOWN.write_text(written(found, before), encoding="utf-8")


if __name__ == "__main__":
    main()
