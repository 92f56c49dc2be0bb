"""What a call of the linted file leads to in another file: told at the call, with the way there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import PurePath

from devlint.flow.facts import Elsewhere
from devlint.model.reports import Change, Hop, Located, Report, chain, options
from devlint.source.spots import path_of


def nodes_of(report: Report) -> Iterator[Located]:
    """What a report points at."""
    yield report.at
    yield from (hop.node for hop in report.because)


def rows_of(report: Report, here: str) -> Iterator[int]:
    """The rows of a file in which something stands that a report points at, or that its fixes
    change."""
    nodes = [*nodes_of(report)]
    if report.fix is not None:
        nodes += _asked(report.fix)
    for node in nodes:
        if path_of(node.origin) == here:
            yield from range(node.origin[1], node.origin[3] + 1)  # type: ignore[index]


def brought_home(report: Report, fact: Located, here: str) -> Report | None:
    """A report of this file that may point at another one, where a tensor or a module was made: it
    points at what is nearest here then. None where nothing is here."""

    def is_here(node: Located) -> bool:
        return path_of(node.origin) in (None, here)

    fix = _of_one_file(report.fix, is_here)
    if is_here(report.at):
        return report if fix is report.fix else replace(report, fix=fix)
    nearest = (fact, *(hop.node for hop in reversed(report.because)))
    at = next(filter(is_here, nearest), None)
    if at is None:
        return None
    return replace(report, at=at, message=report.from_afar or report.message, fix=fix)


def _of_one_file(fix: Change | None, is_in: Callable[[Located], bool]) -> Change | None:
    """The fixes of those that may be made which change one file alone."""
    kept = []
    for option in options(fix):
        also = [_of_one_file(each, is_in) for each in option.also]
        if None not in also and all(map(is_in, _touched(option))):
            kept.append(replace(option, also=tuple(filter(None, also))))
    return chain(kept)


def _asked(fix: Change) -> Iterator[Located]:
    """All nodes that may be asked for where a fix is located."""
    for option in options(fix):
        yield from _touched(option)
        if option.after is not None:
            yield option.after
        for other in option.also:
            yield from _asked(other)


def _touched(fix: Change) -> Iterator[Located]:
    yield from fix.together
    yield from fix.peers
    for rewrite in fix.rewrites:
        yield from (rewrite.start.node, rewrite.end.node)


def reported(led: Elsewhere, report: Report) -> Report:
    """What a rule says of a fact in another file, as this file is told of it.

    Where this file made what goes wrong, that is what is pointed at. What no change of this file
    fixes may be fixed in the other.
    """
    path = path_of(led.fact.node.origin) or ""
    here = path_of(led.node.origin)
    at_home = path_of(report.at.origin) == here
    message = report.message if at_home else _led(led, path, report.message)
    way = [Hop(led.node, f"`{led.function}` is called here")]
    if not any(hop.node is led.fact.node for hop in report.because):
        way.append(Hop(led.fact.node, "it fails here"))
    return replace(
        report,
        at=report.at if at_home else led.node,
        message=message,
        because=(*report.because, *way),
        fix=chain(
            (
                *options(_of_one_file(report.fix, lambda node: path_of(node.origin) == here)),
                *_there(led, _of_one_file(report.fix, lambda node: path_of(node.origin) == path)),
            )
        ),
        help=_in(led, report.help),
    )


def _there(led: Elsewhere, fix: Change | None) -> Iterator[Change]:
    """The fixes of the other file, in words for this one."""
    return (replace(option, help=_in(led, option.help)) for option in options(fix))


def _in(led: Elsewhere, remedy: str) -> str:
    return f"in `{led.function}`: {remedy}" if remedy else ""


def _led(led: Elsewhere, path: str, message: str) -> str:
    return f"in `{led.function}` ({PurePath(path).name}), called here: {message}"
