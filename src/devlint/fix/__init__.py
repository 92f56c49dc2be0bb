"""Edits: fixes are applied to the bytes of a file, linted again, and kept where they hold; and
findings are suppressed by comments, which are tried the same way."""
