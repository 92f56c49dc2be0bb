"""`devlint explain`: what a traceback, or the log of a run, tells of errors about devices."""

from __future__ import annotations

import argparse
import dataclasses
import sys

from devlint.cli.arguments import UsageError
from devlint.crashes.told import Told, explain_text
from devlint.safety import files
from devlint.safety.escaping import json_text, line

LARGEST = 16 * 1024 * 1024
"""Bytes of a log that are read."""

NOTHING = "No error about devices was found."


def explain(options: argparse.Namespace) -> int:
    """Explain each error about devices in a text, once."""
    found = explain_text(_read(options.file).decode("utf-8", errors="replace"))
    if options.output_format == "json":
        print(json_text([dataclasses.asdict(told) for told in found], indent=2))
        return 0
    blocks = [_block(told) for told in found] or [f"{NOTHING}\n"]
    sys.stdout.write("\n".join(blocks))
    return 0


def _read(name: str) -> bytes:
    """A file, or standard input."""
    try:
        if name != "-":
            return files.read(name, LARGEST)
        data = sys.stdin.buffer.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{name}: {files.reason(error)}") from error
    if len(data) > LARGEST:
        raise UsageError(f"standard input is larger than {LARGEST:,} bytes")
    return data


def _block(told: Told) -> str:
    times = f" ({told.count:,} times)" if told.count > 1 else ""
    lines = [f"{told.headline}{times}", *(f"  {label:9}  {text}" for label, text in told.lines)]
    return "".join(f"{line(each)}\n" for each in lines)
