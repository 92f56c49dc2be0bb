"""Which facts of the cases differ from those of tests/facts.txt.

python tools/facts.py            prints the cases that differ
python tools/facts.py --write    and writes the file anew
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from fact_lines import GOLDEN, line_of, read_golden  # noqa: E402
from literate import all_cases  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    now = {case.id: line_of(case) for cases in all_cases().values() for case in cases}
    before = read_golden() if GOLDEN.exists() else {}
    changed = [id for id in {**before, **now} if before.get(id) != now.get(id)]
    for id in changed:
        print(f"- {before.get(id, id)}\n+ {now.get(id, id)}")
    print(f"{len(changed)} of {len(now)} cases differ")
    if options.write:
        GOLDEN.write_text("".join(f"{line}\n" for line in now.values()), encoding="utf-8")
    elif changed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
