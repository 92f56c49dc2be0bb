"""DEV002: a suppression comment, or a code in one, that suppresses nothing."""

from collections.abc import Iterator

from devlint.flow.facts import IdleSuppression
from devlint.model.findings import Safety
from devlint.model.reports import Change, Report, replace
from devlint.rules import rule


@rule("unused-suppression", on=IdleSuppression)
def unused_suppression(idle: IdleSuppression) -> Iterator[Report]:
    codes = ", ".join(f"`{code}`" for code in idle.codes)
    fewer = "remove the comment" if not idle.remaining else f"keep only `{idle.remaining}`"
    yield Report(
        at=idle.at,
        message=f"nothing here is suppressed by {codes or 'this comment'}",
        fix=Change(fewer, (replace(idle.at, idle.remaining),), Safety.SAFE),
    )
