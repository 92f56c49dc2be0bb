"""`--since`: reports only what an older revision doesn't have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from devlint.cli.progress import Bar
from devlint.cli.session import Session
from devlint.config.settings import SettingsError
from devlint.driver.discover import Found
from devlint.model.findings import Finding

if TYPE_CHECKING:
    from devlint.driver.run import Result
    from devlint.history.since import Revision


def revision_of(session: Session, paths: Sequence[str]) -> Revision:
    """The revision that is asked for. Raises `SettingsError`."""
    from devlint.history.git import GitError
    from devlint.history.since import revision

    try:
        return revision(session.options.since, paths)
    except GitError as error:
        raise SettingsError(f"--since: {error}") from error


def new_findings(
    session: Session, since: Revision, paths: Sequence[str], found: Found, result: Result
) -> list[Finding]:
    """The findings of a run without the older ones. Raises `SettingsError`."""
    from devlint.history.git import GitError
    from devlint.history.since import compare

    try:
        with Bar(not session.options.quiet) as bar:
            compared = compare(
                since, paths, found.sources, result, session.sources, session.jobs, bar.update
            )
    except GitError as error:
        raise SettingsError(f"--since: {error}") from error
    session.older = compared.older
    for text in compared.warnings:
        session.say(f"devlint: warning: {text}")
    session.detail(
        f"devlint: {compared.linted} files linted again as {since.name} has them ({since.commit})"
    )
    return compared.findings
