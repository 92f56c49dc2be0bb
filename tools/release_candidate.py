"""Makes a release candidate of what is committed, and checks it. Nothing is pushed or published.

python tools/release_candidate.py
python tools/release_candidate.py --version 0.2.0 --strict

The packages and all that is told of them go into dist/VERSION.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from release import candidate, checks, packages, users
from release.steps import FAILED, LEFT_OUT, Candidate, Log, StepError, shown

ROOT = Path(__file__).resolve().parents[1]

STEPS: dict[str, Callable[[Candidate], str]] = {
    "changelog": candidate.notes,
    "promises": checks.promises,
    "build": packages.build,
    "sdist": packages.sdist,
    "twine": packages.twine,
    "install": packages.install,
    "start": packages.start,
    "sbom": packages.sbom,
    "pythons": checks.pythons,
    "types": checks.types,
    "hook": users.hook,
    "action": users.action,
    "workflows": checks.workflows,
}
NEEDED = {"build", "install"}
"""What other steps can't be without."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--version", help="0.2.0, or 0.2.0rc1; left out, the next candidate")
    parser.add_argument("--strict", action="store_true", help="fail also where a step is left out")
    parser.add_argument("--only", action="append", choices=STEPS, help="take this step; repeatable")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="devlint-release-"))
    try:
        return _make(options, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _make(options: argparse.Namespace, work: Path) -> int:
    try:
        made = candidate.prepare(ROOT, options.version, work, ROOT / "dist")
    except StepError as error:
        print(error)
        return 1
    print(f"devlint {made.version}, commit {made.commit}")
    chosen = {*STEPS} if not options.only else {*NEEDED, *options.only}
    log = Log()
    for name, step in STEPS.items():
        if name in chosen and not log.take(name, partial(step, made)) and name in NEEDED:
            break
    return _end(made, log, options.strict)


def _end(made: Candidate, log: Log, strict: bool) -> int:
    lines = [f"# devlint {made.version}, commit {made.commit}", ""]
    lines += [shown(outcome) for outcome in log.outcomes]
    (made.out / "report.txt").write_text("\n".join(lines) + "\n", "utf-8")
    failed, left_out = log.having(FAILED), log.having(LEFT_OUT)
    print()
    if left_out:
        print(f"LEFT OUT: {', '.join(left_out)}")
    if failed or (strict and left_out):
        print(f"{made.version} is no candidate: {', '.join(failed or left_out)}")
        return 1
    print(f"{made.version} is in {made.out.relative_to(ROOT)}/; {candidate.what_next(made)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
