"""The page of a run: what it copied and waited for a step, where, and what of it is avoidable."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from devlint import __version__
from devlint.model.fingerprint import relative_path
from devlint.report.closing import plural
from devlint.report.html.markup import code, prose, text
from devlint.report.html.page import BUTTONS, GAP, page
from devlint.runtime.avoidable import avoidable
from devlint.runtime.run_chart import chart
from devlint.runtime.transfers import NOTHING, size_text

_AROUND = 3
"""Lines of source above and below one of the table."""

Line = Mapping[str, Any]
"""A line of the program, as in the record of a `TransferLog`."""


def run_page(record: Mapping[str, Any], root: Path) -> str:
    """A record as one HTML page; paths are relative to a root."""
    lines: Sequence[Line] = record["lines"]
    steps: int = record["steps"]
    main = f'<p class="clean">{NOTHING}</p>\n'
    if lines:
        advice = [avoidable(line, steps) for line in lines]
        main = (
            f"{_summary(record, advice)}"
            f'<section aria-labelledby="when"><h2 id="when">Over time</h2>\n'
            f'<div class="scroll" role="group" aria-label="Timeline" tabindex="0">'
            f"{chart(record['timeline'])}</div></section>\n"
            f"{_table(lines, advice, steps, root)}{_sources(lines, advice, steps, root)}"
        )
    body = (
        f'<header>\n<div class="bar"><h1>Copies and waits</h1><p class="by">devlint '
        f'{text(__version__)}</p>{BUTTONS}</div>\n</header>\n<main id="main" tabindex="-1">\n'
        f"{main}</main>\n"
    )
    return page("devlint: copies and waits of a run", body, "run")


def _summary(record: Mapping[str, Any], advice: Sequence[Sequence[str]]) -> str:
    lines, steps = record["lines"], record["steps"]
    size = size_text(sum(line["bytes"] for line in lines))
    copies = f"{record['copies']:,} {'copy' if record['copies'] == 1 else 'copies'}"
    said = [
        f"Total: {plural(record['waits'], 'wait')} for a device, {copies} between devices, {size}."
    ]
    if steps:
        inside = {
            what: sum(line["in_steps"][what] for line in lines)
            for what in ("waits", "copies", "bytes")
        }
        said.insert(
            0,
            f"A step, of {plural(steps, 'step')} behind the first: {_each(inside['waits'], steps)} "
            f"waits, {_each(inside['copies'], steps)} copies, "
            f"{size_text(round(inside['bytes'] / steps))}.",
        )
    else:
        said.append("No two steps of an optimizer were seen, so there are no figures per step.")
    count = sum(map(bool, advice))
    if count:
        said.append(f"{plural(count, 'line')} with copies or waits that can be avoided.")
    return "".join(f"<p>{text(sentence)}</p>\n" for sentence in said)


def _each(amount: int, steps: int) -> str:
    return f"{amount / steps:,.1f}".removesuffix(".0")


def _table(lines: Sequence[Line], advice: Sequence[Sequence[str]], steps: int, root: Path) -> str:
    each = " a step" if steps else ""
    rows = "".join(
        f'<tr id="row{number}" tabindex="-1" data-stop><td>{_link(line, number, root)}<br>'
        f"<code>{code(line['source'])}</code></td>"
        f"{_numbers(line, steps)}<td>{_done(line)}{_advice(said)}</td></tr>\n"
        for number, (line, said) in enumerate(zip(lines, advice, strict=True))
    )
    heads = "".join(
        f'<th scope="col" class="num">{name}{each}</th>' for name in ("Waits", "Copies", "Bytes")
    )
    total = ", in brackets in the whole run" if steps else ""
    return (
        '<section aria-labelledby="lines"><h2 id="lines">By line</h2>\n<table class="wide">\n'
        f"<caption>Those that wait most often come first{total}.</caption>\n"
        f'<thead><tr><th scope="col">Line</th>{heads}<th scope="col">What can be avoided</th>'
        f"</tr></thead>\n<tbody>\n{rows}</tbody></table></section>\n"
    )


def _link(line: Line, number: int, root: Path) -> str:
    name = relative_path(line["file"], root)
    where = f"{name}:{line['line']}" if line["line"] else name
    within = f" in {line['function']}" if line["function"] else ""
    return f'<a href="#line{number}">{text(where)}</a>{text(within)}'


def _numbers(line: Line, steps: int) -> str:
    cells = []
    for name in ("waits", "copies", "bytes"):
        is_size = name == "bytes" and line[name]
        whole = size_text(line[name]) if is_size else f"{line[name]:,}"
        words = whole
        if steps and line[name]:
            inside = line["in_steps"][name]
            step = (
                size_text(round(inside / steps))
                if name == "bytes" and inside
                else _each(inside, steps)
            )
            words = f'{step} <span class="many">({whole})</span>'
        cells.append(f'<td class="num" data-name="{name}">{words}</td>')
    return "".join(cells)


def _done(line: Line) -> str:
    done = ", ".join(
        text(what if count == 1 else f"{what} \N{MULTIPLICATION SIGN}{count:,}")
        for what, count in line["what"].items()
    )
    return f'<span class="many">{done}</span>'


def _advice(said: Sequence[str]) -> str:
    return "".join(f'<p><span class="avoid">Avoidable:</span> {prose(each)}.</p>' for each in said)


Told = tuple[int, Line, bool]
"""The number of a line in the table, the line, and whether something of it is avoidable."""


def _sources(lines: Sequence[Line], advice: Sequence[Sequence[str]], steps: int, root: Path) -> str:
    """The source around the lines, file by file."""
    files: dict[str, list[Told]] = {}
    for number, (line, said) in enumerate(zip(lines, advice, strict=True)):
        files.setdefault(line["file"], []).append((number, line, bool(said)))
    return "".join(
        _source(index, name, here, steps, root) for index, (name, here) in enumerate(files.items())
    )


def _source(index: int, name: str, here: Sequence[Told], steps: int, root: Path) -> str:
    shown = text(relative_path(name, root))
    source = linecache.getlines(name)
    gone = "" if source else '<p class="gone">This file can\'t be read any more.</p>\n'
    rows = "".join(_rows(source, here, steps))
    return (
        f'<section class="file" aria-labelledby="file{index}"><h2 id="file{index}">{shown}</h2>\n'
        f'{gone}<div class="excerpt" role="group" aria-label="Source of {shown}">\n{rows}</div>\n'
        "</section>\n"
    )


def _rows(source: Sequence[str], here: Sequence[Told], steps: int) -> Iterator[str]:
    told: dict[int, list[Told]] = {}
    for each in here:
        told.setdefault(each[1]["line"], []).append(each)
    wanted = {row + by for row in told for by in range(-_AROUND, _AROUND + 1)}
    previous = 0
    for row in sorted(row for row in wanted if row in told or 0 < row <= len(source)):
        if previous and row > previous + 1:
            yield GAP
        previous = row
        body = code(source[row - 1].rstrip("\r\n")) if 0 < row <= len(source) else ""
        css = "row"
        if row in told:
            css = "row hit" if any(avoid for _, _, avoid in told[row]) else "row seen"
        ids = "".join(f'<span id="line{number}"></span>' for number, _, _ in told.get(row, ()))
        yield (
            f'<div class="{css}">{ids}<span class="no">{row or ""}</span>'
            f'<code class="src">{body}</code></div>\n'
        )
        for number, line, avoid in told.get(row, ()):
            more = ", avoidable" if avoid else ""
            yield (
                f'<div class="{css} say"><span class="no"></span><span>{_said(line, steps)}{more} '
                f'(<a href="#row{number}">in the table</a>)</span></div>\n'
            )


def _said(line: Line, steps: int) -> str:
    parts = []
    for name, one, many in (("waits", "wait", "waits"), ("copies", "copy", "copies")):
        amount = line["in_steps"][name] if steps else line[name]
        if amount:
            words = _each(amount, steps) if steps else f"{amount:,}"
            parts.append(f"{words} {one if words == '1' else many}")
    each = " a step" if steps else ""
    return f"{', '.join(parts)}{each}" if parts else "in no step"
