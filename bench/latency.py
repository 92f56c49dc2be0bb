"""How soon the server tells an editor what it finds, from a change on.

    python bench/latency.py                    files of 1,000 lines, made of examples/
    python bench/latency.py train.py model.py  files of your own, each as it lies in its project

Each file is opened over the standard streams, as an editor does, and a comment is typed into its
middle, letter by letter, each after the diagnostics of the one before. What is measured is the time
from sending the change to having the diagnostics, less the wait for another change: the median and
the slowest of 20; and on Linux the time of the processor that the server takes for a change, which
says more where a machine does other things as well. To hold: 150 ms for a file of 1,000 lines.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from devlint.server.worker import DEBOUNCE

CHANGES = 20
ROWS = 1000
MOST_SECONDS = 0.15

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
_NAME = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
_OWN_IMPORT = re.compile(r"^from (?:digits|\.).*\n", re.MULTILINE)
_MAIN = re.compile(r"^if __name__ .*", re.MULTILINE | re.DOTALL)


def program(first: str) -> str:
    """One of the examples, and several times the one without mistakes, with other names each
    time."""
    rows: list[str] = []
    copy = 0
    while len(rows) < ROWS:
        folder = EXAMPLES / ("digits_fixed" if copy else first)
        files = [path.read_text() for path in sorted(folder.glob("[!_]*.py"))]
        text = "\n\n".join(_MAIN.sub("", _OWN_IMPORT.sub("", each)) for each in files)
        names = re.compile(rf"\b({'|'.join(sorted(set(_NAME.findall(text))))})\b")
        copy += 1
        rows += names.sub(rf"\g<1>_{copy}", text).splitlines()
    return "\n".join(rows[:ROWS]) + "\n"


def processor_seconds(process: int) -> float:
    """What a process has used; 0 where the system doesn't tell."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


async def measured(path: Path) -> tuple[int, float, list[float], float]:
    """How many findings a file has, the seconds from opening it to its diagnostics, from each
    change, and those of the processor for a change."""
    client = LanguageClient("bench", "1")
    published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
    client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda found: published.put_nowait(found))
    await client.start_io(sys.executable, "-m", "devlint", "server")
    folder, uri = path.parent.as_uri(), path.as_uri()
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(), root_uri=folder))
    client.initialized(lsp.InitializedParams())
    text = path.read_text()
    row = text.count("\n") // 2
    began = time.perf_counter()
    item = lsp.TextDocumentItem(uri, "python", 0, text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    findings = len((await published.get()).diagnostics)
    opened = time.perf_counter() - began
    seconds: list[float] = []
    server = client._server.pid if client._server is not None else 0
    used = processor_seconds(server)
    for version in range(1, CHANGES + 1):
        typed = {1: "\n", 2: "#"}.get(version, "x")
        place = lsp.Position(row, max(version - 2, 0))
        change = lsp.TextDocumentContentChangePartial(lsp.Range(place, place), typed)
        named = lsp.VersionedTextDocumentIdentifier(version, uri)
        began = time.perf_counter()
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(named, [change]))
        while (await published.get()).version != version:
            pass
        seconds.append(time.perf_counter() - began - DEBOUNCE)
    used = (processor_seconds(server) - used) / CHANGES
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return findings, opened, seconds, used


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [path.resolve() for path in options.paths]
        if not paths:
            for first in ("digits", "digits_fixed"):
                paths.append(Path(folder) / f"{first}.py")
                paths[-1].write_text(program(first))
        slow = False
        for path in paths:
            rows = path.read_text().count("\n")
            findings, opened, seconds, used = asyncio.run(measured(path))
            median = statistics.median(seconds)
            slow = slow or (rows <= 1.1 * ROWS and median > MOST_SECONDS)
            print(
                f"{path.name}: {rows:,} lines, {findings} findings, opened in "
                f"{1000 * opened:.0f} ms; after a change {1000 * median:.0f} ms, "
                f"at most {1000 * max(seconds):.0f} ms, {1000 * used:.0f} ms of the processor"
            )
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
