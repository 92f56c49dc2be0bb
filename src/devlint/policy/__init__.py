"""Policy: rows for what hangs on what somebody called something. Those of files weigh findings, and
never change a value; those of names are hypotheses, which stand in the derivation of what hangs on
them."""

from devlint.policy.hypotheses import asking, hypotheses, means
from devlint.policy.rows import Row, of_file, rows

__all__ = [
    "Row", "asking", "hypotheses", "means", "names", "of_file", "reasons", "rows",
]  # fmt: skip


def names() -> tuple[str, ...]:
    """The names of all rows."""
    return (*rows(), *hypotheses())


def reasons() -> dict[str, str]:
    """What each row says to users."""
    of_files = {row.name: row.reason for row in rows().values()}
    return {**of_files, **{row.name: row.reason for row in hypotheses().values()}}
