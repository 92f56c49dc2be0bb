"""Which older file a new one was, where it isn't at its place any more."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import NamedTuple

_ALIKE = 0.5
"""How much of the longer file two files have in common where one was the other."""
_MOST_PAIRS = 20_000
"""Pairs of files that are compared by their lines; of more, those of one name only."""
_MOST_BYTES = 100_000_000
"""Bytes of all files that have gone, above which that is so as well."""

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
    fresh = {path: _seal(new_content(path)) for path in new}
    old = {path: _seal(old_content(path)) for path in gone}
    _pair_same(fresh, old, found)
    taken = set(found.values())
    pairs = [*islice(_pairs(fresh.keys() - found.keys(), old.keys() - taken, old), _MOST_PAIRS)]
    for *_, path, other in sorted(_scores(pairs, new_content, old_content)):
        if path not in found and other not in taken:
            found[path] = other
            taken.add(other)
    return found


class _Seal(NamedTuple):
    """What a file holds, to compare."""

    digest: bytes
    size: int


def _seal(content: bytes) -> _Seal:
    plain = _plain(content)
    return _Seal(hashlib.sha256(plain).digest(), len(plain.strip()))


def _pairs(
    new: Collection[str], gone: Collection[str], old: Mapping[str, _Seal]
) -> Iterator[tuple[str, str]]:
    """The files that are compared: all, or those of one name where that is too much."""
    whole = sum(old[path].size for path in gone)
    if len(new) * len(gone) <= _MOST_PAIRS and whole <= _MOST_BYTES:
        yield from product(sorted(new), sorted(gone))
        return
    by_name: dict[str, list[str]] = {}
    for path in sorted(gone):
        by_name.setdefault(_name(path), []).append(path)
    for path in sorted(new):
        yield from ((path, other) for other in by_name.get(_name(path), ()))


def _pair_same(fresh: Mapping[str, _Seal], old: Mapping[str, _Seal], found: dict[str, str]) -> None:
    by_content: dict[bytes, list[str]] = {}
    for path, seal in old.items():
        if seal.size:
            by_content.setdefault(seal.digest, []).append(path)
    for path, seal in fresh.items():
        others = by_content.get(seal.digest)
        if others:
            same_name = (other for other in others if _name(other) == _name(path))
            other = next(same_name, others[0])
            others.remove(other)
            found[path] = other


def _scores(
    pairs: Sequence[tuple[str, str]], new_content: Content, old_content: Content
) -> list[tuple[float, bool, str, str]]:
    """Those alike: how much they differ, whether their names do, and their paths."""
    lines = {path: _lines(new_content(path)) for path in dict.fromkeys(path for path, _ in pairs)}
    theirs = {other: _lines(old_content(other)) for other in dict.fromkeys(o for _, o in pairs)}
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


def _name(path: str) -> str:
    return path.rpartition("/")[2]
