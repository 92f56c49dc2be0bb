"""`devlint migrate`: a project that needs CUDA becomes one that runs anywhere."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import os
import sys
from collections.abc import Sequence

from devlint.cli import complain, say
from devlint.cli.arguments import UsageError
from devlint.cli.check import configured
from devlint.cli.output import shown_diffs
from devlint.cli.session import Session
from devlint.config.sources import Failure
from devlint.driver.discover import discover
from devlint.migrate.choice import Choice
from devlint.migrate.project import Migrated, Migration
from devlint.migrate.project import migrate as work_out
from devlint.migrate.releases import oldest_torch
from devlint.migrate.verify import CannotVerifyError, Command, Verified, command, verify
from devlint.safety.escaping import line

_KINDS = frozenset({"cuda", "mps", "xpu", "cpu"})


def migrate(options: argparse.Namespace) -> int:
    """Run the command. Raises `UsageError` and `SettingsError`; returns the exit code."""
    name = options.device
    if name in _KINDS:
        raise UsageError(f"--device is a name for the variable, not a device: `{name}` is one")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(f"--device: `{name}` is no name that a variable can have")
    program = None
    if options.verify is not None:
        program = _program(options.verify)
    current = os.getcwd()
    configuration = configured(options, current)
    settings = configuration.for_folder(current)
    session = Session(options, configuration, settings, 1)
    paths = tuple(options.paths) or (".",)
    found = discover(paths, configuration)
    session.failures += found.failures
    if session.failures:
        return session.finish([])
    if not found.sources:
        raise UsageError(f"no Python files found in {', '.join(paths)}")
    if not (options.yes or options.diff) and (sys.stdin is None or not sys.stdin.isatty()):
        raise UsageError("there is no terminal to ask: give --yes to write, or --diff to look")
    root = settings.root or current
    migration = work_out(found.sources, Choice(oldest_torch(root)), name)
    session.failures += migration.failures
    if options.diff:
        return _show(session, migration)
    _summarise(session, migration)
    if not migration.files:
        return session.finish([], changed=bool(migration.undecided))
    if program is not None and not _is_verified(session, program, root, migration):
        return session.finish([], changed=True)
    if not options.yes and not _confirmed(len(migration.files)):
        complain("nothing was written")
        return session.finish([], changed=True)
    _write(session, migration.files)
    return session.finish([], changed=bool(migration.undecided))


def _program(text: str) -> Command:
    try:
        found = command(text)
    except CannotVerifyError as error:
        raise UsageError(f"--verify: {error}") from error
    if importlib.util.find_spec("torch") is None:
        raise UsageError("--verify needs torch: pip install torch")
    return found


def _show(session: Session, migration: Migration) -> int:
    from devlint.fix.patches import unified_diff

    diffs = [
        unified_diff(each.old, each.new, each.source.shown, each.source.language)
        for each in migration.files
    ]
    session.write(shown_diffs(session, diffs))
    for text in _left(migration):
        session.say(text)
    return session.finish([], changed=bool(diffs or migration.undecided))


def _summarise(session: Session, migration: Migration) -> None:
    for file in migration.files:
        told = ", ".join(f"{kind}: {count}" for kind, count in file.done)
        session.write(f"{line(file.source.shown)}: {told}\n")
    for text in _left(migration):
        session.write(f"{line(text)}\n")
    if not migration.files:
        session.write("Nothing to migrate.\n")


def _left(migration: Migration) -> list[str]:
    if not migration.undecided:
        return []
    count = len(migration.undecided)
    head = f"Left as {'it is' if count == 1 else 'they are'}, for you to decide ({count}):"
    return [head, *(f"  {each.place}: {each.reason}" for each in migration.undecided)]


def _is_verified(session: Session, program: Command, root: str, migration: Migration) -> bool:
    """Run the program; whether nothing speaks against the migration."""
    changed = {each.source.path: each.new for each in migration.files}
    try:
        result = verify(program, os.path.realpath(root), _real(changed), _tell)
    except CannotVerifyError as error:
        session.failures.append(Failure("", str(error)))
        return False
    _report(session, result)
    return not result.objections


def _real(changed: dict[str, bytes]) -> dict[str, bytes]:
    return {os.path.realpath(path): data for path, data in changed.items()}


def _tell(name: str) -> None:
    say(f"devlint: running it {name} ...")


def _report(session: Session, result: Verified) -> None:
    for run in result.runs:
        last = f", last loss {run.losses[-1]!r}" if run.losses else ""
        ended = "ends" if run.code == 0 else f"fails with {run.code}"
        session.write(f"{run.name}: {ended}, {len(run.losses)} losses{last}\n")
    for note in result.notes:
        session.write(f"note: {note}\n")
    for run in result.runs:
        if run.code:
            complain(f"{run.name}, it wrote at the end:")
            print("\n".join(run.tail.splitlines()[-15:]), file=sys.stderr)
    for text in result.objections:
        complain(f"not verified, so nothing is written: {text}")
    if not result.objections:
        same = result.runs[0].losses
        told = f"the same {len(same)} losses to the digit, and it" if same else "it"
        session.write(f"Verified: {told} ends on emulated cuda, emulated mps and the CPU.\n")


def _confirmed(count: int) -> bool:
    several = "s" * (count != 1)
    answer = input(f"Write these changes to {count} file{several}? [y/N] ")
    return answer.strip().lower() in ("y", "yes")


def _write(session: Session, files: Sequence[Migrated]) -> None:
    from devlint.safety import files as on_disk
    from devlint.safety.writing import rewrite

    written = 0
    for file in files:
        try:
            rewrite(file.source.path, file.old, file.new)
            written += 1
        except OSError as error:
            reason = f"can't be written: {on_disk.reason(error)}"
            session.failures.append(Failure(file.source.shown, reason))
    session.write(f"Wrote {written} file{'s' * (written != 1)}.\n")
