"""Which older file a new one was, where it isn't at its place any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

_ALIKE = 0.5
"""How much of the longer file two files have in common where one was the other."""
_MOST_PAIRS = 20_000
"""Pairs of files that are compared by their lines; of more, those of one name only."""
_MOST_BYTES = 100_000_000
"""Bytes that are read for that."""

Content = Callable[[str], bytes]


def renamed(
    new: Sequence[str], gone: Sequence[str], new_content: Content, old_content: Content
) -> dict[str, str]:
    """The older file of each new one that was renamed, by path.

    First those that are the same, whatever their names, those of one name before others; then
    those most alike, where they have half of their lines in common.
    """
    found: dict[str, str] = {}
    if not new or not gone:
        return found
    fresh = {path: _plain(new_content(path)) for path in new}
    old = {path: _plain(old_content(path)) for path in gone}
    _pair_same(fresh, old, found)
    taken = set(found.values())
    pairs = [
        (path, other) for path in fresh if path not in found for other in old if other not in taken
    ]
    if len(pairs) > _MOST_PAIRS or _size(fresh) + _size(old) > _MOST_BYTES:
        pairs = [(path, other) for path, other in pairs if _name(path) == _name(other)]
    scores = sorted(_scores(pairs[:_MOST_PAIRS], fresh, old))
    for *_, path, other in scores:
        if path not in found and other not in taken:
            found[path] = other
            taken.add(other)
    return found


def _pair_same(fresh: Mapping[str, bytes], old: Mapping[str, bytes], found: dict[str, str]) -> None:
    by_content: dict[bytes, list[str]] = {}
    for path, content in old.items():
        if content.strip():
            by_content.setdefault(content, []).append(path)
    for path, content in fresh.items():
        others = by_content.get(content)
        if others:
            same_name = (other for other in others if _name(other) == _name(path))
            other = next(same_name, others[0])
            others.remove(other)
            found[path] = other


def _scores(
    pairs: Sequence[tuple[str, str]], fresh: Mapping[str, bytes], old: Mapping[str, bytes]
) -> list[tuple[float, bool, str, str]]:
    """Those alike: how much they differ, whether their names do, and their paths."""
    lines = {path: _lines(fresh[path]) for path in dict.fromkeys(path for path, _ in pairs)}
    theirs = {other: _lines(old[other]) for other in dict.fromkeys(other for _, other in pairs)}
    found: list[tuple[float, bool, str, str]] = []
    for path, other in pairs:
        one, two = lines[path], theirs[other]
        whole = max(one.total(), two.total())
        if min(one.total(), two.total()) < _ALIKE * whole:
            continue
        shared = (one & two).total()
        if shared and shared >= _ALIKE * whole:
            found.append((1 - shared / whole, _name(path) != _name(other), path, other))
    return found


def _plain(content: bytes) -> bytes:
    """A content whose lines end as git keeps them."""
    return content.replace(b"\r\n", b"\n")


def _lines(content: bytes) -> Counter[bytes]:
    """How often each line is there, without its blanks."""
    return Counter(filter(None, map(bytes.strip, content.split(b"\n"))))


def _size(contents: Mapping[str, bytes]) -> int:
    return sum(map(len, contents.values()))


def _name(path: str) -> str:
    return path.rpartition("/")[2]
