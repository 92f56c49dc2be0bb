"""What the text is, and where its rows and columns are."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from server.editor import BOTH, GPU, capabilities, driven, editing, placed


@driven
async def test_columns_are_counted_as_the_editor_does(tmp_path: Path) -> None:
    uri, text = (tmp_path / "a.py").as_uri(), GPU.replace("y = ", "'é🙂'; y = ")
    for encoding, shift in (
        (lsp.PositionEncodingKind.Utf16, 7),
        (lsp.PositionEncodingKind.Utf8, 10),
    ):
        async with editing(tmp_path, able=capabilities([encoding])) as editor:
            editor.open(uri, text)
            (found,) = await editor.found(uri)
            assert placed(found) == (3, 4 + shift, 3, 13 + shift)
            assert "on cuda" in await editor.hover(uri, 3, 4 + shift)
            editor.type(uri, (3, 4 + shift), (3, 5 + shift), "x.cpu()")
            assert await editor.codes(uri, version=2) == []


@driven
async def test_rows_end_where_the_protocol_says(tmp_path: Path) -> None:
    # A form feed and a line separator end no row; a lone carriage return does.
    text = 'import torch\r\n# \f \u2028 \x1c\rx = torch.ones(3, device="cuda")\r\ny = x.numpy()\r\n'
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, text)
        (found,) = await editor.found(uri)
        assert placed(found) == (3, 4, 3, 13)
        action = await editor.resolved(
            (await editor.actions(uri, (3, 4), (3, 4)))["Fix: Insert `.cpu()`"]
        )
        assert editor.applied(action) == {uri: text.replace("x.numpy", "x.cpu().numpy")}
        ignoring = (await editor.actions(uri, (3, 4), (3, 4)))["Ignore DEV205 here"]
        suppressed = editor.applied(await editor.resolved(ignoring))[uri]
        assert suppressed == text[:-2] + "  # devlint: ignore[DEV205]\r\n"
        editor.type(uri, (3, 4), (3, 5), "x.cpu()")
        assert await editor.codes(uri, version=2) == []


@driven
async def test_the_text_counts_and_not_its_bytes_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xff\xfe nothing \x00 that Python reads")
    latin = "# coding: latin-1\nimport torch\n'é'; x = torch.ones(3, device='cuda').numpy()\n"
    async with editing(tmp_path) as editor:
        editor.open(path.as_uri(), "\ufeff" + GPU)
        assert [placed(each) for each in await editor.found(path.as_uri())] == [(3, 4, 3, 13)]
        editor.replace(path.as_uri(), latin)
        (found,) = await editor.found(path.as_uri(), version=2)
        assert placed(found)[:2] == (2, 9)
        editor.replace(path.as_uri(), "\ufeffx = __import__; import torch; torch.device('gpu')\n")
        (found,) = await editor.found(path.as_uri(), version=3)
        assert placed(found)[:2] == (0, 44)


@driven
async def test_half_typed_code_is_a_finding_that_goes(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        editor.open(uri, GPU + "def f(:\n")
        (found,) = await editor.found(uri)
        assert (found.code, found.range.start.line) == ("DEV001", 4)
        assert await editor.hover(uri, 2, 0) == ""
        assert await editor.hints(uri) == []
        assert await editor.actions(uri, (4, 0), (4, 9)) == {}
        editor.type(uri, (4, 6), (4, 7), "): ...")
        assert await editor.codes(uri, version=2) == ["DEV205"]


@driven
async def test_what_has_no_file_is_linted_and_what_is_elsewhere_is_not(tmp_path: Path) -> None:
    (tmp_path / "devlint.toml").write_text('ignore = ["DEV202"]\n')
    async with editing(tmp_path) as editor:
        editor.open("untitled:Untitled-1", BOTH)
        assert await editor.codes("untitled:Untitled-1") == ["DEV205", "DEV304", "DEV002"]
        elsewhere = ("git:/a.py?HEAD", "https://example.org/a.py", "file:///a%00.py", "nonsense")
        for uri in elsewhere:
            editor.open(uri, GPU)
            assert await editor.hover(uri, 3, 4) == ""
        plain = (tmp_path / "notes.txt").as_uri()
        editor.open(plain, GPU, "plaintext")
        assert await editor.codes(plain) == []
        assert not any(editor.count(uri) for uri in elsewhere)
