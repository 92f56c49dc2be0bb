"""The text that reports quote is the file's own, as Python reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.cli.session import read_source


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfa\r\n", "a\r\n"),
        (b"# coding: latin-1\n\xe9", "# coding: latin-1\né"),
        (b"\xff", None),
        (b"# coding: none-such\n", None),
    ],
)
def test_sources_are_read_as_python_reads_them(
    tmp_path: Path, data: bytes, text: str | None
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(data)
    assert read_source(str(path)) == text
    assert read_source(str(tmp_path / "missing.py")) is None
