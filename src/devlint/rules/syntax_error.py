"""DEV001: a file that can't be parsed."""

from collections.abc import Iterator

from devlint.flow.facts import Unparsable
from devlint.model.reports import Report
from devlint.rules import rule


@rule("syntax-error", on=Unparsable)
def syntax_error(fact: Unparsable) -> Iterator[Report]:
    yield Report(at=fact.at, message=fact.reason)
