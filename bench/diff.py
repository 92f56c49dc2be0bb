"""Which findings come and go between two revisions of devlint, over public code.

    python bench/diff.py main .                          the corpus; "." is the tree as it stands
    python bench/diff.py main~5 main timm trl            two packages of it
    python bench/diff.py main . --paths FOLDER FOLDER    code of your own
    python bench/diff.py main . --json changes.json
    python bench/diff.py main . timm --facts             what the interpreter writes down, instead

Each revision is unpacked into a folder of its own and run from its `src`. What a commit finds in a
package doesn't change, so that it is kept beside the packages. A finding is the same one in both if
its file, its code and the text of its line are the same. What has a label says so.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import tempfile
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import clones
import corpus
import labels
import packages

ROOT = Path(__file__).resolve().parent.parent
HERE = "."
_MOST_WORDS = 400
NEEDED = ("src/", "rules/")
"""What a checkout needs to run: the wheel has the pages inside, a checkout beside its source."""

Place = tuple[str, str, str, str, str]
"""Package, version, path, code, text of the line."""


@dataclass(frozen=True)
class Changes:
    """What one revision finds and another doesn't."""

    added: tuple[labels.Record, ...]
    removed: tuple[labels.Record, ...]
    kept: tuple[labels.Record, ...]
    reworded: int
    """How many of the kept ones have another message."""


def compare(
    old: list[labels.Record], new: list[labels.Record], line_of: Callable[[labels.Record], str]
) -> Changes:
    """Match findings by file, code and text of the line: on the same row first, then in order."""
    before, after = _by_place(old, line_of), _by_place(new, line_of)
    added: list[labels.Record] = []
    removed: list[labels.Record] = []
    kept: list[labels.Record] = []
    reworded = 0
    for place in sorted(before.keys() | after.keys()):
        gone, come = list(before.get(place, ())), list(after.get(place, ()))
        pairs = _same_rows(gone, come)
        common = min(len(gone), len(come))
        pairs += zip(gone, come, strict=False)
        removed += gone[common:]
        added += come[common:]
        kept += [pair[1] for pair in pairs]
        reworded += sum(first["message"] != second["message"] for first, second in pairs)
    return Changes(tuple(added), tuple(removed), tuple(kept), reworded)


def _by_place(
    findings: list[labels.Record], line_of: Callable[[labels.Record], str]
) -> dict[Place, list[labels.Record]]:
    places: defaultdict[Place, list[labels.Record]] = defaultdict(list)
    for finding in sorted(findings, key=_row):
        package, version, path, _, code = labels.key_of(finding)
        places[package, version, path, code, line_of(finding).strip()].append(finding)
    return places


def _same_rows(
    gone: list[labels.Record], come: list[labels.Record]
) -> list[tuple[labels.Record, labels.Record]]:
    """The pairs that stand on one row, taken out of both lists."""
    pairs = []
    for finding in list(gone):
        partner = next((other for other in come if _row(other) == _row(finding)), None)
        if partner is not None:
            gone.remove(finding)
            come.remove(partner)
            pairs.append((finding, partner))
    return pairs


def _row(finding: labels.Record) -> int:
    return int(str(finding["line"]))


# --- revisions ---------------------------------------------------------------------------------


def commit_of(revision: str) -> str:
    """The full name of a revision's commit; "" for the tree as it stands."""
    if revision == HERE:
        return ""
    commit = clones.commit_of(ROOT / ".git", revision)
    if commit is None:
        raise SystemExit(f"no such revision: {revision}")
    return commit


@contextlib.contextmanager
def source_of(commit: str) -> Iterator[Path]:
    """The `src` folder of a commit, for as long as the context lasts."""
    if not commit:
        yield ROOT / "src"
        return
    with tempfile.TemporaryDirectory() as scratch:
        clones.check_out(ROOT / ".git", commit, Path(scratch), _is_needed)
        yield Path(scratch, "src")


def _is_needed(path: str) -> bool:
    return path.startswith(NEEDED)


@dataclass(frozen=True)
class Bench:
    """What both revisions are run on, and how."""

    packages: list[packages.Package]
    select: str
    kept: Path | None
    """Where a commit's findings are kept; None for code that may change."""
    facts: bool = False
    """Facts stand for findings: their types for codes, all that they say for messages."""

    def findings(self, commit: str) -> list[labels.Record]:
        found: list[labels.Record] = []
        with contextlib.ExitStack() as stack:
            source: Path | None = None
            for package in self.packages:
                kept = self._file(commit, package)
                if kept and kept.exists():
                    found += labels.records(kept)
                    continue
                source = source or stack.enter_context(source_of(commit))
                run = (
                    corpus.facts(package, source)
                    if self.facts
                    else corpus.lint(package, 1, self.select, source)
                )
                if run.crash:
                    raise SystemExit(f"{commit or HERE} on {package.name}: {run.crash}")
                found += run.findings
                if kept:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    kept.write_text(json.dumps(run.findings))
        return found

    def _file(self, commit: str, package: packages.Package) -> Path | None:
        if self.kept is None or not commit:
            return None
        select = hashlib.sha1(self.select.encode()).hexdigest()[:8]
        what = "facts" if self.facts else select
        return self.kept / commit / f"{package.name}-{package.version}-{what}.json"

    def line_of(self, finding: labels.Record) -> str:
        package, version, path, line, _ = labels.key_of(finding)
        folder = next(
            one.folder for one in self.packages if (one.name, one.version) == (package, version)
        )
        rows = (folder / path).read_text(errors="replace").splitlines()
        return rows[line - 1] if line <= len(rows) else ""


# --- what is told ------------------------------------------------------------------------------


def print_changes(changes: Changes, known: dict[labels.Key, labels.Label]) -> None:
    for sign, findings in (("+", changes.added), ("-", changes.removed)):
        for finding in findings:
            package, _, path, line, code = labels.key_of(finding)
            label = known.get(labels.key_of(finding))
            judged = f" [{label.verdict}]" if label else ""
            message = textwrap.shorten(str(finding["message"]), _MOST_WORDS, placeholder=" ...")
            print(f"{sign} {package} {path}:{line} {code}{judged} {message}")
    print(f"\n{'code':40} {'added':>6} {'removed':>8} {'kept':>6}")
    for code, counts in by_code(changes).items():
        print(f"{code:40} {counts['added']:6} {counts['removed']:8} {counts['kept']:6}")
    whole = (len(changes.added), len(changes.removed), len(changes.kept))
    print(f"{'all':40} {whole[0]:6} {whole[1]:8} {whole[2]:6}")
    print(f"kept with another message: {changes.reworded}")


def by_code(changes: Changes) -> dict[str, Counter[str]]:
    """How many findings of each code were added, removed and kept."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name in ("added", "removed", "kept"):
        for finding in getattr(changes, name):
            counts[str(finding["code"])][name] += 1
    return dict(sorted(counts.items()))


def as_object(changes: Changes) -> dict[str, object]:
    return {
        "added": changes.added,
        "removed": changes.removed,
        "reworded": changes.reworded,
        "rules": by_code(changes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("old", help='a revision, or "." for the tree as it stands')
    parser.add_argument("new")
    parser.add_argument("packages", nargs="*", help="names of the set (default: all)")
    parser.add_argument("--set", choices=packages.SETS, default="corpus", help="which packages")
    parser.add_argument("--paths", nargs="*", type=Path, default=[], help="folders instead")
    parser.add_argument("--cache", type=Path, default=packages.default_cache())
    parser.add_argument("--select", default="ALL", help="rules to run (default: ALL)")
    parser.add_argument("--facts", action="store_true", help="compare facts, not findings")
    parser.add_argument("--jobs", type=int, default=1, help="2 runs both revisions at once")
    parser.add_argument("--labels", type=Path, default=labels.LABELS)
    parser.add_argument("--json", type=Path, help="write the changes to this file")
    options = parser.parse_args()

    commits = [commit_of(revision) for revision in (options.old, options.new)]
    if options.paths:
        own = [packages.Package(str(path), "", path) for path in options.paths]
        bench = Bench(own, options.select, None, options.facts)
    else:
        fetched = packages.fetch(options.packages, options.cache, options.set)
        bench = Bench(fetched, options.select, options.cache / "findings", options.facts)
    with ThreadPoolExecutor(min(options.jobs, 2)) as pool:
        old, new = pool.map(bench.findings, commits)
    changes = compare(old, new, bench.line_of)
    print_changes(changes, labels.read(options.labels))
    if options.json:
        options.json.write_text(json.dumps(as_object(changes), indent=1) + "\n")


if __name__ == "__main__":
    main()
