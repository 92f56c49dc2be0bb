"""How often a statement runs: the runs of all statements for each that runs at all.

    python bench/statement_runs.py espnet timm      two packages of corpus.toml

A function runs once for each version of what calls bring: the more versions there are, the more
runs. Packages come from the package registry into a cache outside the repository, and are linted
in this process, one after the other and without devlint's cache.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections import Counter
from collections.abc import Callable
from typing import Any

import packages

from devlint.cli import main as devlint
from devlint.flow.bodies import statements
from devlint.model import ir

OPTIONS = ("--isolated", "--no-cache", "--jobs=1", "--exit-zero", "--quiet")


def counted(root: str) -> Counter[ir.Stmt]:
    """Lint what is under `root`: the statements that run, each with how often."""
    runs: Counter[ir.Stmt] = Counter()
    handlers = dict(statements._STATEMENTS)

    def counting(handle: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def count(frame: Any, statement: ir.Stmt) -> None:
            runs[statement] += 1
            handle(frame, statement)

        return count

    statements._STATEMENTS.update({kind: counting(each) for kind, each in handlers.items()})
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            devlint(["check", *OPTIONS, root])
    finally:
        statements._STATEMENTS.update(handlers)
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="+", metavar="PACKAGE")
    names = parser.parse_args().names
    print("| package | statements | runs | runs of each |\n| --- | --- | --- | --- |")
    for package in packages.fetch(names, packages.default_cache()):
        runs = counted(str(package.folder))
        each = runs.total() / max(1, len(runs))
        print(f"| {package.name} | {len(runs):,} | {runs.total():,} | {each:.1f} |", flush=True)


if __name__ == "__main__":
    main()
