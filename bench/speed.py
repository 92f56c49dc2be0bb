"""How long devlint takes beside LibCST's parser alone, and with a warm cache.

    python bench/speed.py                             the whole corpus: some minutes
    python bench/speed.py --sample 300                300 files of it, drawn at random
    python bench/speed.py --paths src tests           files of your own

Every measurement is a process of its own over the same copied files, on one core, in CPU seconds
(user and system, start of the interpreter included):

  parse   libcst.parse_module of every file, nothing else
  cold    devlint --jobs 1 --no-cache
  fill    devlint --jobs 1 with an empty cache, which it fills
  warm    the same once more, nothing changed

devlint lets Python's garbage collector run rarely; the parsing process goes over its files by
devlint's own loop, so the collector runs as often in both. To hold: cold at most 1.6 times parse,
warm at most a fiftieth of cold.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import libcst
import packages

MOST_PARSES = 1.6
MOST_WARM = 1 / 50


def parse_all(root: Path) -> None:
    """Parse every file under `root`: what the child process of the first measurement does."""
    from devlint.driver.pool import each

    files = [path for path in sorted(root.rglob("*.py*")) if path.is_file()]
    for path, error in each(parse, files, 1):
        if error:
            print(f"not parsed: {path}: {error}", file=sys.stderr)


def parse(path: Path) -> str:
    """Parse one file and drop its tree; why it can't be parsed, or ""."""
    try:
        libcst.parse_module(path.read_bytes())
    except (libcst.ParserSyntaxError, UnicodeDecodeError) as error:
        return str(error).partition("\n")[0]
    return ""


def cpu_seconds(command: list[str]) -> float:
    """CPU seconds of a process. Raises SystemExit where it fails."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 2):
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def copy(files: list[tuple[str, Path]], root: Path) -> int:
    """Copy files under `root`, each by its name there, times kept; how many lines they have."""
    lines = 0
    for name, path in files:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
        lines += path.read_bytes().count(b"\n")
    return lines


def choose(options: argparse.Namespace) -> list[tuple[str, Path]]:
    """The files to measure, by the name that their copy has."""
    if options.paths:
        files = [
            (str(Path(f"{number:03d}") / path.relative_to(top)), path)
            for number, top in enumerate(options.paths)
            for path in sorted(top.rglob("*.py"))
        ]
    else:
        files = [
            (str(Path(package.name) / path.relative_to(package.folder)), path)
            for package in packages.fetch(options.packages, options.cache)
            for path in package.files
        ]
    if options.sample:
        files = random.Random(options.seed).sample(files, min(options.sample, len(files)))
    return sorted(files)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--packages", nargs="*", default=[], help="names of corpus.toml")
    parser.add_argument("--paths", nargs="*", type=Path, default=[], help="folders instead")
    parser.add_argument("--cache", type=Path, default=packages.default_cache())
    parser.add_argument("--sample", type=int, default=0, help="this many files only")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=1, help="the least of so many measurements")
    parser.add_argument("--parse", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.parse:
        parse_all(options.parse)
        return

    with tempfile.TemporaryDirectory() as scratch:
        root, cache = Path(scratch, "files"), Path(scratch, "cache")
        files = choose(options)
        lines = copy(files, root)
        print(f"{len(files)} files, {lines} lines")
        devlint = [sys.executable, "-m", "devlint", "check", str(root), "--isolated", "--jobs", "1"]
        devlint += ["--exit-zero", "--no-respect-gitignore", "--output-format", "json"]
        commands = {
            "parse": [sys.executable, __file__, "--parse", str(root)],
            "cold": [*devlint, "--no-cache"],
            "fill": [*devlint, "--cache-dir", str(cache)],
            "warm": [*devlint, "--cache-dir", str(cache)],
        }
        seconds = dict.fromkeys(commands, float("inf"))
        for _ in range(options.repeat):
            shutil.rmtree(cache, ignore_errors=True)
            for name, command in commands.items():
                seconds[name] = min(seconds[name], cpu_seconds(command))
    for name, value in seconds.items():
        print(f"{name:6} {value:8.2f} CPU s {value / lines * 1e6:8.2f} µs a line")
    parses, warm = seconds["cold"] / seconds["parse"], seconds["warm"] / seconds["cold"]
    print(f"cold / parse: {parses:.2f} (at most {MOST_PARSES})")
    print(f"warm / cold: 1/{1 / warm:.0f} (at most 1/{1 / MOST_WARM:.0f})")
    if parses > MOST_PARSES or warm > MOST_WARM:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
