"""The frame of a page: its style and its script are inside, and nothing else may be loaded or run.

A Content-Security-Policy names both by their hashes. So what is shown can't run anything even if
it weren't escaped, and the page reaches no network.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from string import Template

from devlint import __version__
from devlint.report.html.markup import text

_FOLDER = Path(__file__).parent

BUTTONS = (
    '<div class="buttons" hidden><button type="button" id="theme">Dark</button>'
    '<button type="button" id="show-help" aria-haspopup="dialog">Keys</button></div>'
)
"""What needs the script, which shows it."""

GAP = '<div class="row gap"><span class="no">\N{MIDLINE HORIZONTAL ELLIPSIS}</span></div>\n'
"""In the place of rows that are left out."""


def page(title: str, body: str, css_class: str) -> str:
    """A whole page around what stands in its body. It is ASCII: whichever encoding it is written
    in, a browser reads the same."""
    style, script = _file("page.css"), _file("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(_file("page.html")).substitute(
        policy=policy,
        title=_ascii(text(title)),
        version=text(__version__),
        style=style,
        script=script,
        body=_ascii(body),
        css_class=css_class,
    )


@cache
def _file(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


def _ascii(html: str) -> str:
    return html.encode("ascii", "xmlcharrefreplace").decode()


def _hash(inline: str) -> str:
    return f"sha256-{b64encode(sha256(inline.encode()).digest()).decode()}"
