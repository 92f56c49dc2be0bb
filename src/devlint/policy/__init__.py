"""Policy: rows that weigh findings by what devlint doesn't analyse, and never change a value."""

from devlint.policy.rows import Row, names, of_file, rows

__all__ = ["Row", "names", "of_file", "rows"]
