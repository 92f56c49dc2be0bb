"""Text of others as each kind of output takes it: file names, source, messages, settings.

Whoever wrote what is linted must not be able to give orders to a terminal, to the log of a build
server or to a viewer of reports, nor to forge a line of output. So what is printed passes one of
these functions: terminals take `line`, `shown` and `block`, and each other format its own.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable

_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}

# What build servers obey anywhere in a line of a log, as `##[error]` and `##vso[task.complete]`.
_LOG_COMMAND = re.compile(r"#(?=#\w*\[)")

# What GitHub's runner obeys at the start of a line, behind any blanks.
_WORKFLOW_COMMAND = re.compile(r"^(\s*):(?=:)", re.MULTILINE)

# In JSON without other letters than those of ASCII: a pair of surrogates, half of one, another.
_JSON_ESCAPE = re.compile(r"\\(?:ud[89ab]..\\ud[c-f]..|(?P<half>ud[89a-f]..)|.)")


# --- terminals -----------------------------------------------------------------------------


def is_visible(character: str) -> bool:
    """Whether a terminal shows a character: it obeys a control, and hides a mark of direction.

    This is what `repr` keeps of a text, and besides the blanks of other scripts.
    """
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _backslashed(character: str) -> str:
    point = ord(character)
    if point < 0x100:
        return _NAMED.get(character, rf"\x{point:02x}")
    return rf"\u{point:04x}" if point < 0x10000 else rf"\U{point:08x}"


def pieces(text: str, escape: Callable[[str], str] = _backslashed) -> list[str]:
    """What is shown of each character: itself, or an escape as Python's strings have them.

    Commands to build servers are broken up by an escape as well.
    """
    found = [c if is_visible(c) else escape(c) for c in text]
    for match in _LOG_COMMAND.finditer(text):
        found[match.start()] = escape("#")
    return found


def shown(text: str) -> str:
    """A text as a part of one line."""
    if text.isprintable() and "##" not in text:
        return text
    return "".join(pieces(text))


def line(text: str) -> str:
    """A text as a line, or the start of one, that no runner takes for a command."""
    return _WORKFLOW_COMMAND.sub(r"\1\\x3a", shown(text))


def block(text: str) -> str:
    """A text of several lines, each as `line` gives it; tabs stay."""
    kept = (c if c in "\n\t" else piece for c, piece in zip(text, pieces(text), strict=True))
    return _WORKFLOW_COMMAND.sub(r"\1\\x3a", "".join(kept))


# --- formats -------------------------------------------------------------------------------


def json_text(value: object, indent: int | None = None) -> str:
    """A value as JSON that any reader takes: ASCII, and no half of a surrogate pair.

    Such halves stand for bytes of a file name that are no UTF-8. They are spelled out.
    """
    text = json.dumps(value, indent=indent)
    text = _JSON_ESCAPE.sub(lambda found: rf"\{found[0]}" if found["half"] else found[0], text)
    return _LOG_COMMAND.sub(r"\\u0023", text)


def toml_string(text: str) -> str:
    """A text as a basic string of TOML, which can't hold halves of surrogate pairs either."""
    return "".join(pieces(json.dumps(text, ensure_ascii=False), _toml_escape))


def _toml_escape(character: str) -> str:
    point = ord(character)
    if 0xD800 <= point < 0xE000:
        return rf"\\u{point:04x}"
    return rf"\u{point:04x}" if point < 0x10000 else rf"\U{point:08x}"


def workflow_data(text: str) -> str:
    """The text of one of GitHub's workflow commands."""
    return shown(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def workflow_property(text: str) -> str:
    """The value of a property of such a command."""
    return workflow_data(text).replace(":", "%3A").replace(",", "%2C")


def azure_data(text: str) -> str:
    """The text of one of Azure Pipelines' logging commands."""
    return shown(text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A"))


def azure_property(text: str) -> str:
    """The value of a property of such a command."""
    return azure_data(text).replace(";", "%3B").replace("]", "%5D")


def unlinked(text: str) -> str:
    """A message in SARIF, where `[text](target)` is a link.

    A backslash before the brackets, as the standard has it, keeps no viewer from making one.
    """
    return text.replace("](", r"]\(")


def markdown(text: str) -> str:
    """A line of Markdown without links, pictures and HTML.

    Its code stays code, and where it is taken for plain text it reads well, too.
    """
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", unlinked(shown(text)))


def patch_name(name: str) -> bytes:
    """A file's name in the head of a patch: quoted as git does where it isn't plain."""
    if name.isprintable() and not {'"', "\\"} & set(name):
        # A tab ends a name with blanks, where a date may follow.
        return f"{name}\t".encode() if " " in name else name.encode()
    return f'"{"".join(map(_octal, name))}"'.encode()


def _octal(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(rf"\{byte:03o}" for byte in os.fsencode(character))
