"""`devlint merge FILES...`: joins what the shards of a run have written."""

from __future__ import annotations

import argparse
import os
import sys

from devlint.cli import complain
from devlint.cli.arguments import UsageError
from devlint.report.merging import MergeError, merge, read
from devlint.safety import files
from devlint.safety.escaping import block

_LARGEST = 1024 * 1024 * 1024
"""Bytes of what one shard has written."""


def merge_shards(options: argparse.Namespace) -> int:
    """Print what the run would have printed. Returns the exit code that it would have had."""
    if not options.files:
        raise UsageError("name the files that the shards have written")
    if os.path.lexists("merge") and os.path.lexists(options.files[0]):
        raise UsageError("`merge` is here: say `devlint ./merge` to lint it")
    try:
        merged = merge([read(name, files.read(name, _LARGEST)) for name in options.files])
    except OSError as error:
        raise UsageError(f"{error.filename or 'merge'}: {files.reason(error)}") from error
    except MergeError as error:
        raise UsageError(str(error)) from error
    if options.output_file is None:
        text = block(merged.text) if sys.stdout.isatty() else merged.text
        sys.stdout.write(text)
    else:
        with open(options.output_file, "w", encoding="utf-8", newline="\n") as file:
            file.write(merged.text)
    for filename, reason in merged.failures:
        complain(f"{filename}: {reason}" if filename else reason)
    return merged.exit_code
