"""`--executor` and `--shard`: a run on many machines."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from devlint.cli.arguments import UsageError
from devlint.cli.session import Session
from devlint.config.sources import Failure
from devlint.driver.discover import Found
from devlint.driver.run import Result
from devlint.model.findings import Finding

if TYPE_CHECKING:
    from devlint.driver.executors import Elsewhere

_ALONE = ("watch", "stdin_filename", "dump_facts")
_WHOLE = ("fix", "fix_only", "diff", "add_ignore", "update_baseline", "store_costs")
"""What needs all files of a run, or changes those that other shards are told apart by."""


def settle(options: argparse.Namespace) -> None:
    """Raise `UsageError` for options that don't go together with these."""
    for name, others in (("executor", (*_ALONE, "jobs")), ("shard", (*_ALONE, *_WHOLE))):
        if getattr(options, name) is None:
            continue
        if "-" in options.paths:
            raise UsageError(f"--{name} needs files, not standard input")
        for other in others:
            if getattr(options, other) not in (None, False):
                word = other.replace("_", "-")
                raise UsageError(f"--{name} and --{word} don't go together: give one of them")
    if options.costs is not None and options.shard is None:
        raise UsageError("--costs needs --shard")


def elsewhere(options: argparse.Namespace) -> Elsewhere | None:
    """Where the work is done, if not in processes of this machine. Raises `ExecutorError`."""
    if options.executor is None:
        return None
    from devlint.driver.executors import Elsewhere

    return Elsewhere(options.executor)


def take_shard(session: Session, found: Found) -> None:
    """Leave of what was found this shard's files. Raises `SettingsError`."""
    from devlint.driver.sharding import read_costs, shard

    options = session.options
    costs = {} if options.costs is None else read_costs(options.costs)
    number, of = options.shard
    session.shard = shard(found.sources, number, of, costs)
    found.sources = list(session.shard.sources)


def shard_record(session: Session, findings: list[Finding]) -> dict[str, object] | None:
    """What a format for programs says of this shard; None where the run is whole."""
    shard = session.shard
    return (
        None
        if shard is None
        else {
            "number": shard.number,
            "of": shard.of,
            "partition": shard.partition,
            "exit_code": session.exit_code(findings),
            "failures": [{"filename": f.filename, "reason": f.reason} for f in session.failures],
        }
    )


def note(session: Session, elsewhere: Elsewhere | None, found: Found, result: Result) -> None:
    """Take down what a run on many machines leaves besides findings. Raises `SettingsError`."""
    for address, why in sorted(elsewhere.refused.items() if elsewhere is not None else ()):
        reason = f"--executor: the worker {address} is refused: {why}"
        session.failures.append(Failure("", reason))
    if session.options.store_costs is not None:
        from devlint.driver.sharding import store_costs

        store_costs(session.options.store_costs, found.sources, result.seconds)
