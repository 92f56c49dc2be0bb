"""What ends the server and what doesn't."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from lsprotocol import types as lsp
from server.editor import GPU, WORDS, Editor, capabilities, driven, editing


@driven
async def test_nothing_of_what_is_open_is_run_or_imported(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    trap = "open('trapped', 'w').close()\n"
    for name in ("torch", "pygls", "lsprotocol", "attr", "cattrs", "libcst", "asyncio", "devlint"):
        (tmp_path / f"{name}.py").write_text(trap)
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path, words=[*WORDS, "--isolated"]) as editor:
        editor.open(uri, f"import devlint\n{trap}{GPU}")
        assert await editor.codes(uri) == ["DEV205"]
        assert "cuda" in await editor.hover(uri, 5, 4)
    assert not (tmp_path / "trapped").exists()


@driven
async def test_a_bug_in_one_file_is_a_line_of_the_log(tmp_path: Path) -> None:
    broken = (
        "import devlint.server.checking as checking, sys\n"
        "from devlint.cli import main\n"
        "real = checking.check\n"
        "def check(data, path, settings):\n"
        "    if b'crash' in data: raise KeyError('what\\nnow\\x1b')\n"
        "    return real(data, path, settings)\n"
        "checking.check = check\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    editor, uri, other = Editor(), (tmp_path / "a.py").as_uri(), (tmp_path / "b.py").as_uri()
    await editor.client.start_io(sys.executable, "-c", broken, "server", *WORDS)
    await editor.client.initialize_async(lsp.InitializeParams(capabilities()))
    editor.open(uri, f"{GPU}# crash\n")
    assert await editor.codes(uri) == []
    assert editor.logged == [f"{tmp_path}/a.py: internal error: KeyError: 'what\\nnow\\x1b'"]
    editor.open(other, GPU)
    assert await editor.codes(other) == ["DEV205"]
    assert await editor.leave() == 0


@driven
async def test_odd_messages_end_nothing(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with editing(tmp_path) as editor:
        for body in (b"{", b"[]", b"7", b'{"jsonrpc": "2.0", "method": "textDocument/didOpen"}'):
            editor.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))  # type: ignore[union-attr]
        unknown = {"jsonrpc": "2.0", "id": 77, "method": "textDocument/nothing", "params": {}}
        body = json.dumps(unknown).encode()
        editor.process.stdin.write(b"nonsense\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))  # type: ignore[union-attr]
        editor.versions["nowhere"] = 1
        editor.replace("nowhere", "x")
        editor.close("nowhere")
        editor.open(uri, GPU)
        editor.type(uri, (900, 7), (901, 9), "\nd = torch.device('gpu')\n")
        assert await editor.codes(uri, version=2) == ["DEV205", "DEV304"]
        editor.type(uri, (3, 100), (3, 200), "; torch.device('gpu')")
        assert await editor.codes(uri, version=3) == ["DEV205", "DEV304", "DEV304"]


@driven
async def test_long_work_ends_where_its_text_has_changed(tmp_path: Path) -> None:
    slow = (
        "import devlint.server.checking as checking, sys, time\n"
        "from devlint.cli import main\n"
        "from devlint.flow.frames import steps\n"
        "real = steps.Steps.look\n"
        "def look(self):\n"
        "    time.sleep(0.5)\n"
        "    real(self)\n"
        "steps.Steps.look = look\n"
        "steps._BETWEEN = 1\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    editor, uri = Editor(), (tmp_path / "a.py").as_uri()
    await editor.client.start_io(sys.executable, "-c", slow, "server", *WORDS)
    await editor.client.initialize_async(lsp.InitializeParams(capabilities()))
    editor.open(uri, "import torch\n" + "x = torch.ones(3)\n" * 1000)  # some minutes
    await asyncio.sleep(0.5)
    editor.replace(uri, "import sys\n")
    assert await editor.codes(uri) == []
    assert editor.published[uri][0].version == 2
    editor.open(uri, "import torch\n" + "x = torch.ones(3)\n" * 1000)
    await asyncio.sleep(0.5)
    assert await editor.leave() == 0


@driven
async def test_an_end_without_shutdown_is_an_error(tmp_path: Path) -> None:
    editor = Editor()
    await editor.start([tmp_path], capabilities(), None, *WORDS)
    editor.client.exit(None)
    assert await editor.exit_code() == 1
