"""Findings that somebody judged, and how well two readers agree.

    python bench/labels.py                           how many labels, and how well readers agree
    python bench/labels.py merge FIRST [SECOND]      what readers say as labels, on stdout
    python bench/labels.py merge FIRST SECOND --into bench/labels.jsonl

A label is a line of labels.jsonl:

    package, version    the project: a release of a package, or "owner/name" and a commit
    path, line, code    which finding of it
    confidence          what devlint said of it: "high" or "medium" at first, then its number;
                        absent where nobody kept it
    sorts               the sorts of steps by which it is derived, as devlint last found it, which
                        may be none; absent where it is gone, or nobody kept them
    verdict             "true", "false", or "unclear" where readers differ or can't say
    readers             what one reader said, or two who didn't know of each other
    reason              why, in a sentence
    first_sight         whether devlint had never been tried on that project when it was judged
    today               the code of the rule that makes the same claim today, where another one does
    source              "reader"; "oracle" where the project's tests raised at one of its lines;
                        "suites" where they did and readers judged the cause

Labels of findings that have gone stay: they tell what was fixed, and what must not be lost.

A reader gets the sheet of `corpus.py --unlabelled` and fills in `verdict` and `reason` there.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path

LABELS = Path(__file__).resolve().parent / "labels.jsonl"

Key = tuple[str, str, str, int, str]
"""Package, version, path inside the package, 1-based line, code."""

Record = dict[str, object]

PROVING = ("DEV2", "DEV3", "DEV4", "DEV5")
"""The families whose findings claim that something goes wrong, and so may be false."""


VERDICTS = ("true", "false", "unclear")
SOURCES = ("reader", "oracle", "suites")


@dataclass(frozen=True)
class Label:
    """One line of labels.jsonl."""

    key: Key
    readers: tuple[str, ...]
    verdict: str
    reason: str
    first_sight: bool = False
    source: str = "reader"
    confidence: str = ""
    sorts: tuple[str, ...] | None = None
    """None where nobody kept them."""
    today: str = ""
    """The code of the rule that makes the same claim today, "" where it is the same one."""

    @property
    def true(self) -> bool | None:
        """Whether the finding is true; None where that is unclear."""
        return None if self.verdict == "unclear" else self.verdict == "true"

    def record(self) -> Record:
        names = ("package", "version", "path", "line", "code")
        return {
            **dict(zip(names, self.key, strict=True)),
            **({"confidence": self.confidence} if self.confidence else {}),
            **({} if self.sorts is None else {"sorts": list(self.sorts)}),
            "verdict": self.verdict,
            "readers": list(self.readers),
            "reason": self.reason,
            "first_sight": self.first_sight,
            "source": self.source,
            **({"today": self.today} if self.today else {}),
        }


# --- reading and joining -----------------------------------------------------------------------


def records(path: Path) -> list[Record]:
    """The objects of a file: one JSON array, or one object a line."""
    text = path.read_text()
    if text.lstrip().startswith("["):
        whole: list[Record] = json.loads(text)
        return whole
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def read(path: Path = LABELS) -> dict[Key, Label]:
    """The labels of a file, one JSON object a line; none where there is no file.

    Raises ValueError for a verdict that isn't one, and for a finding that is labelled twice.
    """
    labels: dict[Key, Label] = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else (), 1):
        if not line.strip():
            continue
        try:
            label = _label(json.loads(line))
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path}:{number}: {error}") from error
        if label.key in labels:
            raise ValueError(f"{path}:{number}: labelled before: {label.key}")
        labels[label.key] = label
    return labels


def _label(record: Record) -> Label:
    readers = record["readers"]
    if not isinstance(readers, list) or not set(readers) <= set(VERDICTS):
        raise ValueError(f"the readers said {readers!r}")
    source, verdict = str(record.get("source", "reader")), str(record["verdict"])
    if source not in SOURCES:
        raise ValueError(f"the source is {source!r}")
    if not (source == "reader") <= len(readers) <= 2:
        raise ValueError(f"{len(readers)} readers")
    if verdict not in VERDICTS:
        raise ValueError(f"the verdict is {verdict!r}")
    reason, sorts = str(record["reason"]), record.get("sorts")
    if not reason:
        raise ValueError("there is no reason")
    assert sorts is None or isinstance(sorts, list)
    return Label(
        key_of(record),
        tuple(readers),
        verdict,
        reason,
        record.get("first_sight") is True,
        source,
        str(record.get("confidence") or ""),
        None if sorts is None else tuple(map(str, sorts)),
        str(record.get("today") or ""),
    )


def key_of(record: Record) -> Key:
    """What a finding and its label have in common."""
    return (
        str(record["package"]),
        str(record["version"]),
        str(record["path"]),
        int(str(record["line"])),
        str(record["code"]),
    )


def verdicts(labels: dict[Key, Label]) -> dict[Key, bool]:
    """What is settled."""
    return {key: label.true for key, label in labels.items() if label.true is not None}


def merge(first: list[Record], second: list[Record]) -> list[Label]:
    """What two readers say of the findings that the first one read.

    A file may be a filled-in sheet, or labels that were read once. What nobody has judged yet is
    left out; where the two differ, it is unclear and the reason holds both of theirs.
    """
    other = {key_of(record): record for record in second if _said(record)}
    return [_joined(record, other.get(key_of(record))) for record in first if _said(record)]


def _said(record: Record) -> list[str]:
    """What the readers of a line say; nothing where it is still to be read."""
    verdict = record["verdict"]
    said = record.get("readers") or ([verdict] if verdict else [])
    assert isinstance(said, list)
    return said


def _joined(record: Record, theirs: Record | None) -> Label:
    said = _said(record)
    if theirs is None or len(said) > 1:
        return _label({**record, "readers": said})
    verdict, reason = said[0], record["reason"]
    second = _said(theirs)[0]
    if verdict != second:
        reason = f"{verdict}: {reason} | {second}: {theirs['reason']}"
        verdict = "unclear"
    return _label({**record, "readers": [said[0], second], "verdict": verdict, "reason": reason})


# --- what is counted ---------------------------------------------------------------------------


def gone(
    findings: Iterable[Record], labels: dict[Key, Label], packages: Container[str]
) -> list[Label]:
    """The labels of these packages whose finding isn't found any more."""
    found = {key_of(finding) for finding in findings}
    return [label for key, label in labels.items() if key[0] in packages and key not in found]


def print_gone(
    findings: Iterable[Record], labels: dict[Key, Label], packages: Container[str]
) -> None:
    missing = gone(findings, labels, packages)
    lost = [label for label in missing if label.true]
    fixed = sum(label.true is False for label in missing)
    print(f"labels whose finding is gone: {fixed} false (fixed), {len(lost)} true (lost)")
    for label in lost:
        package, version, path, line, code = label.key
        print(f"  lost: {package} {version} {path}:{line} {code}")


@dataclass(frozen=True)
class Agreement:
    """How far two readers agree."""

    both: int
    """How many findings both have read."""
    same: int
    kappa: float | None
    """Cohen's kappa; None where nothing was read twice."""


def agreement(labels: Iterable[Label]) -> Agreement:
    pairs = [(label.readers[0], label.readers[1]) for label in labels if len(label.readers) == 2]
    return Agreement(len(pairs), sum(first == second for first, second in pairs), kappa(pairs))


def kappa(pairs: list[tuple[str, str]]) -> float | None:
    """Cohen's kappa: the agreement beyond what each reader's shares would give by chance.

    1.0 where chance alone would give full agreement, as where both always say the same word.
    """
    if not pairs:
        return None
    seen = sum(first == second for first, second in pairs) / len(pairs)
    firsts, seconds = (Counter(words) for words in zip(*pairs, strict=True))
    chance = sum(firsts[word] * seconds[word] for word in firsts) / len(pairs) ** 2
    return 1.0 if chance == 1 else (seen - chance) / (1 - chance)


def print_agreement(labels: Iterable[Label]) -> None:
    known = list(labels)
    told = agreement(known)
    print(f"labels: {len(known)}, read twice: {told.both}")
    if told.kappa is not None:
        share = told.same / told.both
        print(
            f"the two readings agree on {told.same} ({share:.0%}); Cohen's kappa {told.kappa:.2f}"
        )
    for label in known:
        if label.true is None:
            package, version, path, line, code = label.key
            print(f"unclear: {package} {version} {path}:{line} {code}: {label.reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command")
    joining = commands.add_parser("merge", help="join the sheets of two readers")
    joining.add_argument("first", type=Path)
    joining.add_argument("second", type=Path, nargs="?", help="without it, of one reader")
    joining.add_argument("--into", type=Path, help="add them to this file of labels")
    joining.add_argument("--first-sight", action="store_true", help="devlint never saw the code")
    options = parser.parse_args()
    if options.command is None:
        print_agreement(read().values())
        return
    first = records(options.first)
    if options.first_sight:
        first = [record | {"first_sight": True} for record in first]
    merged = merge(first, records(options.second) if options.second else [])
    if options.into is None:
        print("".join(json.dumps(label.record()) + "\n" for label in merged), end="")
        return
    known = read(options.into)
    write(known | {label.key: label for label in merged}, options.into)
    print_agreement(merged)


def write(labels: dict[Key, Label], path: Path) -> None:
    """A file of labels, in the order of their places."""
    lines = (json.dumps(labels[key].record()) + "\n" for key in sorted(labels))
    path.write_text("".join(lines))


if __name__ == "__main__":
    main()
