"""Strings that give orders to whatever prints them raw, and what no output may hold of them."""

from __future__ import annotations

import re
import unicodedata

import pytest

EVIL = (
    # forged lines, and commands to the logs of build servers
    "\n", "\r", "a\nb.py:1:1: DEV101 forged", "a\r\n::error::x", "\n::error file=a.py::x",
    "::error::x", " \t::set-output name=a::b", "\u00a0::warning::x", "::stop-commands::x",
    "##[error]x", "a##[add-mask]b", "###[group]x", "##vso[task.complete result=Failed;]",
    "##VSO[task.setvariable variable=a]b", "##teamcity[buildStatus text='x']",
    # terminals
    "\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;https://evil.example\x1b\\x", "\x9b31m",
    "\x90q\x9c", "\x00", "\x07", "\x08\x08\x08", "\x0b", "\x0c", "\x1c", "\x7f", "\x85", "\t",
    "\x0e\x0f",
    # direction, and what isn't seen
    "\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066",
    "\u2067", "\u2068", "\u2069", "\u2028", "\u2029", "\u200b", "\u200c", "\u200d", "\u2060",
    "\ufeff", "\u00ad", "\u180e", "\ufff9", "\U000e0041\U000e007f", "\U0001d173",
    # no characters at all
    "\udcff", "\udc80\udc81x", "\ue000", "\ufffe", "\uffff", "\U0010ffff", "\u0378",
    # markup and the syntax of formats
    "]]>", "<![CDATA[x", "<!--x-->", "&amp;&lt;&#10;", "<script>alert(1)</script>", "<img src=x>",
    "[text](https://evil.example)", "![x](https://evil.example)", "[[0]](1)", "{0}", "{{x}}",
    "```", "`x`", "$x^2$", "%0A::error::x", "%", "a,b:c=d", "\"'", "\\", "\\x1b", "\\udcff", "\\n",
    "../../x", "..\\x", "a b#c?d&e", "-->", "é日本👍", "e\u0301", "x = 1  # ",
)  # fmt: skip

# Numbers, since no runner of tests has to bear such names.
evil_strings = pytest.mark.parametrize("evil", EVIL, ids=map(str, range(len(EVIL))))


def as_name(evil: str) -> str:
    """A string as a file may be called."""
    return evil.replace("\0", "").replace("/", "") + ".py"


def readable(evil: str) -> str:
    """A string as a format made of Unicode text can have it: bytes of names are spelled out."""
    return evil.encode("utf-8", "backslashreplace").decode()


def harmless(text: str) -> bool:
    """Whether all lines of a text are shown as they are, and none is a command."""
    return (
        all(c == "\n" or unicodedata.category(c)[0] not in "C" for c in text)
        and not {"\u2028", "\u2029"} & set(text)
        and not re.search(r"^\s*::", text, re.MULTILINE)
        and not re.search(r"##\w*\[", text)
    )
