"""DEV003: a file that can't be read or decoded."""

from collections.abc import Iterator

from devlint.flow.facts import Unreadable
from devlint.model.reports import Report
from devlint.rules import rule


@rule("unreadable-file", on=Unreadable)
def unreadable_file(fact: Unreadable) -> Iterator[Report]:
    yield Report(at=fact.at, message=fact.reason)
