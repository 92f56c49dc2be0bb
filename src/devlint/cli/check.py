"""`devlint check`: finds the files, lints and fixes them, and reports."""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from devlint.cli import many
from devlint.cli.arguments import UsageError, environment_values, layer_values
from devlint.cli.output import report, shown_diffs
from devlint.cli.progress import Bar
from devlint.cli.session import Session, read_source
from devlint.cli.since import new_findings, revision_of
from devlint.config.configuration import Configuration, parse_toml
from devlint.config.selection import catalogue, validate
from devlint.config.settings import Layer, Settings, SettingsError, check_layer, nearest
from devlint.config.sources import Failure, Source
from devlint.driver.cache import Cache
from devlint.driver.discover import Found, discover
from devlint.driver.run import Result, run
from devlint.model.findings import Finding
from devlint.safety.escaping import line
from devlint.safety.writing import strangers_place

if TYPE_CHECKING:
    from devlint.cli.watching import Around
    from devlint.driver.executors import Elsewhere

_SETTING = re.compile(r"\s*[\w.\"'-]+\s*=")
"""How a setting begins that is given on the command line; a path with `=` starts with `./`."""


def check(options: argparse.Namespace) -> int:
    """Run the command. Raises `UsageError` and `SettingsError`; returns the exit code."""
    if options.version:
        from devlint.cli.commands import version

        return version(options)
    many.settle(options)
    if options.watch:
        from devlint.cli.watching import watch

        return watch(options, lambda: configured(options, os.getcwd()), _check)
    return _check(options)


def _check(options: argparse.Namespace, around: Around | None = None) -> int:
    """One run. `around` is told what findings hang on besides the linted files."""
    _settle(options)
    elsewhere = many.elsewhere(options)
    current = os.getcwd()
    configuration = configured(options, current)
    settings = configuration.for_folder(current)
    trees = [path for path in options.paths if path != "-"]
    written = (options.output_file, options.baseline, options.store_costs, settings.cache_dir)
    for place in written:
        if place and (problem := strangers_place(place, trees)):
            raise SettingsError(f"{place}: {problem}")
    session = Session(options, configuration, settings, options.jobs or _cores(), settings.fail_on)
    if "-" in options.paths or options.stdin_filename is not None:
        from devlint.cli.stdin import check_stdin

        return check_stdin(session)
    reason = options.add_ignore
    if reason is not None:
        _check_adding(session, reason)
    paths = tuple(options.paths) or (".",)
    since = None if options.since is None else revision_of(session, paths)
    found = discover(paths, configuration)
    session.failures += [_with_hint(failure, options) for failure in found.failures]
    is_empty = not found.sources
    if options.shard is not None:
        many.take_shard(session, found)
    if options.show_files:
        session.write("".join(f"{line(source.shown)}\n" for source in found.sources))
        return session.finish([])
    if options.show_settings:
        from devlint.cli.explain import settings_as_text

        first = found.sources[0] if found.sources else None
        of_first = settings if first is None else first.settings
        session.write(settings_as_text(of_first, first.shown if first else "the current folder"))
        return session.finish([])
    if options.dump_facts:
        from devlint.cli.facts import dump_facts

        return dump_facts(session, found.sources)
    if not found.sources:
        validate(settings, catalogue())  # a mistyped rule is an error also where nothing is linted
    if is_empty and not found.failures:
        session.say(f"devlint: warning: no Python files found in {', '.join(paths)}")
    excluded = [found.excluded] if found.excluded and is_empty else []
    for text in (*found.left_out, *excluded):
        session.say(f"devlint: warning: {text}")
    if found.skipped:
        count = len(found.skipped)
        text = "a link that leads" if count == 1 else f"{count} links that lead"
        session.say(f"devlint: warning: {text} out of the given folders: not followed (--verbose)")
    for note in (*found.skipped, *found.notes):
        session.detail(f"devlint: {note}")
    languages = {each.shown: each.language for each in found.sources if each.settings.extension}
    session.sources = lambda filename: read_source(filename, languages.get(filename, ""))
    result = lint(session, found, elsewhere)
    if around is not None:
        around.note(result)
    if reason is not None:
        from devlint.cli.adding import add_ignores

        return add_ignores(session, found.sources, result.findings, reason)
    findings = result.findings
    if since is not None:
        findings = new_findings(session, since, paths, found, result)
    findings = fix(session, found.sources, findings)
    return report(session, findings)


def _settle(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other, and say of those that mean another what it is."""
    for name in ("quiet", "verbose") if options.silent else ():
        _apart(options, "silent", name)
    if options.silent:
        options.quiet = True
    if options.exit_zero:
        if options.fail_on not in (None, "never"):
            _apart(options, "exit_zero", "fail_on")
        options.fail_on = "never"
    if options.update_baseline:
        if options.baseline is None:
            raise UsageError("--update-baseline needs --baseline, which names the file")
        for name in ("since", "diff"):
            _apart(options, "update_baseline", name)


def _apart(options: argparse.Namespace, one: str, other: str) -> None:
    """Raise `UsageError` where an option is given that contradicts another one."""
    if getattr(options, other) not in (None, False):
        names = " and ".join(f"--{name.replace('_', '-')}" for name in (one, other))
        raise UsageError(f"{names} don't go together: give one of them")


def lint(session: Session, found: Found, elsewhere: Elsewhere | None = None) -> Result:
    """Lint what was found, here or elsewhere, with the cache and a progress bar."""
    options = session.options
    with ExitStack() as stack:
        cache = None
        if _wants_cache(options):
            project = session.settings.root or os.getcwd()
            folder = session.settings.cache_dir
            cache = stack.enter_context(Cache(folder, project, _warn(session)))
        bar = stack.enter_context(Bar(not options.quiet))
        result = run(found.sources, session.jobs, cache, bar.update, elsewhere)
    many.note(session, elsewhere, found, result)
    session.files, session.linted = result.files, found.sources
    session.unchecked = result.unchecked
    session.coverage = result.coverage
    for counts in result.withheld_by.values():
        for row, count in counts.items():
            session.withheld_by[row] = session.withheld_by.get(row, 0) + count
    session.unsifted = partial(_unsifted, session, found.sources, result.withheld_by)
    told = {failure.filename for failure in session.failures}
    session.failures += [item for item in result.failures if item.filename not in told]
    for shown, text in result.details.items():
        session.detail(f"{line(shown)}:\n{text}")
    seconds = time.monotonic() - session.started
    session.detail(
        f"devlint: {result.files} files, {result.cached} of them from the cache, {seconds:.2f} s"
    )
    return result


def _unsifted(
    session: Session, sources: Sequence[Source], withholding: Collection[str]
) -> list[Finding]:
    """The findings of the files in which some are withheld, with those that are less certain, and
    with all rows of policy for files turned off."""
    again = [
        replace(source, settings=_everything(source.settings))
        for source in sources
        if source.path in withholding
    ]
    return run(again, session.jobs).findings


def _everything(settings: Settings) -> Settings:
    from devlint import policy

    off = dict(settings.policy) | dict.fromkeys(policy.rows(), False)
    return replace(settings, policy=tuple(sorted(off.items())), pedantic=True)


def fix(session: Session, sources: Sequence[Source], findings: list[Finding]) -> list[Finding]:
    """Apply or show the fixes that were asked for. Returns what is left."""
    options, settings = session.options, session.settings
    if not (settings.fix or settings.fix_only or options.diff):
        return findings
    from devlint.driver.fixing import fix_all

    write = not options.diff
    older = None if session.older is None else session.older.told
    fixed = fix_all(sources, findings, settings.unsafe_fixes, write, session.jobs, older)
    session.applied = fixed.applied
    session.failures += fixed.failures
    for note in fixed.notes:
        session.say(f"devlint: {note}")
    if options.diff:
        session.write(shown_diffs(session, fixed.diffs))
    return fixed.remaining


def configured(options: argparse.Namespace, current: str) -> Configuration:
    """From files, the environment and the command line, the weakest first."""
    given = options.config
    if given is None and os.environ.get("DEVLINT_CONFIG"):
        given = [os.environ["DEVLINT_CONFIG"]]
    files: list[str] = []
    layers: list[Layer] = [check_layer("the environment", current, environment_values())]
    for item in given or ():
        if _SETTING.match(item):
            values = parse_toml(item, f"--config {item}: no TOML, as `select=['DEV2']` is")
            layers.append(check_layer(f"--config {item}", current, values))
        else:
            files.append(item)
    if len(files) > 1:
        raise UsageError(f"--config names two files, {files[0]} and {files[1]}")
    if files and options.isolated:
        raise UsageError("--isolated reads no file, but --config names one")
    if files and (not os.path.exists(files[0]) or os.path.isdir(files[0])):
        raise UsageError(f"--config: there is no file `{files[0]}`, and it is not KEY=VALUE")
    layers.append(check_layer("the command line", current, layer_values(options)))
    return Configuration(tuple(layers), files[0] if files else None, options.isolated)


def _wants_cache(options: argparse.Namespace) -> bool:
    if options.cache is not None:
        return bool(options.cache)
    return os.environ.get("DEVLINT_NO_CACHE", "").lower() in ("", "0", "false", "no")


def _warn(session: Session) -> Callable[[str], None]:
    return lambda text: session.say(f"devlint: warning: {text}")


def _cores() -> int:
    """The cores that this process may use: a container often has fewer than its machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_adding(session: Session, reason: str) -> None:
    """Comments take the place of whatever else is done with findings."""
    if "#" in reason:
        raise UsageError("the reason of --add-ignore can't contain `#`, which ends it")
    if session.settings.ignore_noqa:
        raise UsageError("--add-ignore and --ignore-noqa don't go together: give one of them")
    for name in ("fix", "fix_only", "diff", "baseline", "since"):
        _apart(session.options, "add_ignore", name)


def _with_hint(failure: Failure, options: argparse.Namespace) -> Failure:
    """A first word that is no path may be a command, mistyped or behind an option."""
    from devlint.cli.arguments import COMMANDS

    if [failure.filename] != options.paths[:1] or os.path.lexists(failure.filename):
        return failure
    if failure.filename in COMMANDS:
        hint = f"; the command comes first: `devlint {failure.filename} ...`"
        return Failure(failure.filename, failure.reason + hint)
    hint = nearest(failure.filename, COMMANDS) if os.sep not in failure.filename else ""
    return Failure(failure.filename, failure.reason + hint.replace("mean", "mean the command"))
