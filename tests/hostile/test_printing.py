"""Whatever a name, a line of source or a message holds: each output has it escaped."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree
from xml.parsers import expat

import jsonschema
import pytest
from hostile.evil import EVIL, as_name, evil_strings, harmless, readable
from report.sample import Trouble, finding, span
from report.sarif_schema import SARIF

from devlint.model.findings import Edit, Finding, Fix, Safety, Step
from devlint.report import Summary, render, statistics
from devlint.report.text import cell_width
from devlint.safety.escaping import block, line, shown

FOR_PEOPLE = ("full", "concise", "grouped")
ROOT = Path("/project")
STANDARD = jsonschema.Draft202012Validator(SARIF)


def source(evil: str) -> str:
    return f"import torch\nx = '{evil}'; y = 1\n{evil}\n"


def found(evil: str) -> Finding:
    """A finding that holds a string wherever it can."""
    text, words = source(evil), f"{evil} end"
    here = span(text, "y = 1")
    return finding(
        text,
        "y = 1",
        Step(span(text, "x"), words),
        Step(here, words, str(ROOT / as_name(evil))),
        message=words,
        help=words,
        filename=str(ROOT / as_name(evil)),
        fix=Fix(words, Safety.SAFE, (Edit(here, f"{evil}\n{evil}"),)),
    )


def printed(output_format: str, evil: str, color: bool = False) -> str:
    failures = (Trouble(str(ROOT / as_name(evil)), f"{evil} end"),)
    summary = Summary(files=1, failures=failures, root=ROOT)
    return render(output_format, [found(evil)], summary, color, lambda filename: source(evil))


def test_there_are_many_strings() -> None:
    assert len(set(EVIL)) == len(EVIL) >= 50


# --- for people ----------------------------------------------------------------------------


@evil_strings
@pytest.mark.parametrize("output_format", FOR_PEOPLE)
def test_text_is_harmless(output_format: str, evil: str) -> None:
    text = printed(output_format, evil)
    assert harmless(text)
    coloured = printed(output_format, evil, color=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == text


@evil_strings
@pytest.mark.parametrize("output_format", FOR_PEOPLE)
def test_no_line_is_forged(output_format: str, evil: str) -> None:
    def lines(words: str) -> int:
        odd = replace(found(words), filename=words, name=words, code=words, message=words)
        return render(output_format, [odd], Summary(), False, lambda name: None).count("\n")

    assert lines(evil) == lines("plain")


@evil_strings
def test_statistics_are_harmless(evil: str) -> None:
    odd = replace(found(evil), code=evil, name=evil)
    assert harmless(statistics("full", [odd]))
    assert statistics("full", [odd]).count("\n") == 1
    assert json.loads(statistics("json", [odd]))[0]["name"] == readable(evil)


@evil_strings
def test_carets_stay_below_what_they_mark(evil: str) -> None:
    text = f"x = '{evil}'; y = 1\n"
    if text.count("\n") + text.count("\r") > 1:  # the mark is in another row than the string
        return
    odd = finding(text, "y = 1")
    drawn = render("full", [odd], Summary(), False, lambda name: text).splitlines()
    code = next(row for row in drawn if row.startswith("1 | "))
    carets = drawn[drawn.index(code) + 1]
    before = code[: code.index("y = 1")]
    assert sum(map(cell_width, before)) == carets.index("^^^^^")


def test_an_escape_says_which_character_it_is() -> None:
    assert shown("\x1b\n\t\x85\u202e\U000e0041\udcff") == r"\x1b\n\t\x85\u202e\U000e0041\udcff"
    assert shown("é日本👍 e\u0301\u00a0\u3000") == "é日本👍 e\u0301\u00a0\u3000"
    assert line("::error::") == r"\x3a:error::"
    assert shown("##[x] ## [x]") == r"\x23#[x] ## [x]"
    assert block("\ta\x1b\n ::b") == "\ta\\x1b\n \\x3a:b"


# --- for programs --------------------------------------------------------------------------


@evil_strings
def test_json_holds_what_there_is(evil: str) -> None:
    text = printed("json", evil)
    [record] = json.loads(text)
    words = readable(f"{evil} end")
    assert text.isascii()
    assert harmless(text)
    assert record["filename"] == readable(str(ROOT / as_name(evil)))
    assert record["message"] == words
    assert [step["message"] for step in record["trace"]] == [words, words]
    assert record["fix"]["message"] == words
    assert record["fix"]["edits"][0]["content"] == readable(f"{evil}\n{evil}")
    [row] = printed("json-lines", evil).splitlines()
    assert json.loads(row) == record
    json.dumps(record, ensure_ascii=False).encode()


@evil_strings
def test_sarif_is_valid_and_links_nowhere(evil: str) -> None:
    log = json.loads(printed("sarif", evil))
    STANDARD.validate(log)
    [run] = log["runs"]
    [result] = run["results"]
    assert result["message"]["text"].startswith(readable(evil).replace("](", r"]\("))
    for message in _messages(run["results"]) + _messages(run["invocations"]):
        assert not re.search(r"\[[^\]]*\]\([^)]+\)", message)
    change = result["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert change["insertedContent"]["text"] == readable(f"{evil}\n{evil}")
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote_to_bytes(uri) == os.fsencode(as_name(evil))


def _messages(part: Any) -> list[str]:
    """The texts of all messages in a part of a log."""
    if isinstance(part, list):
        return [text for item in part for text in _messages(item)]
    if not isinstance(part, dict):
        return []
    own = [
        value["text"]
        for key, value in part.items()
        if key in ("message", "description") and "text" in value
    ]
    return own + [text for value in part.values() for text in _messages(value)]


@evil_strings
def test_github_gets_one_command_a_finding(evil: str) -> None:
    text = printed("github", evil)
    commands = [_parsed(row) for row in re.split(r"\r\n|\r|\n", text) if row]
    assert [command for command, _, _ in commands] == ["error", "error"]
    (_, where, message), (_, failed, reason) = commands
    assert where["file"] == failed["file"] == _kept(as_name(evil))
    assert where["title"] == "DEV202 operands-on-other-devices"
    assert message.endswith(_kept(f": DEV202 {evil} end"))
    assert reason == _kept(f"{evil} end")
    assert harmless(text.replace("::error file=", "error file="))


def _parsed(row: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as GitHub's runner reads it."""
    _, head, data = row.split("::", 2)
    command, _, rest = head.partition(" ")
    pairs = (pair.split("=", 1) for pair in rest.split(","))
    properties = {key: _unescaped(value, {"%3A": ":", "%2C": ","}) for key, value in pairs}
    return command, properties, _unescaped(data, {})


def _unescaped(text: str, more: dict[str, str]) -> str:
    for escape, character in ({"%0D": "\r", "%0A": "\n"} | more | {"%25": "%"}).items():
        text = text.replace(escape, character)
    return text


def _kept(text: str) -> str:
    """What a workflow command keeps of a text: line ends have escapes there, and no other."""
    return "".join(part if part in "\r\n" else shown(part) for part in re.split(r"([\r\n])", text))


@evil_strings
def test_azure_gets_one_command_a_finding(evil: str) -> None:
    text = printed("azure", evil)
    first, second = [_of_azure(row) for row in re.split(r"\r\n|\r|\n", text) if row]
    assert first[0]["sourcepath"] == second[0]["sourcepath"] == _kept(as_name(evil))
    assert (first[0]["code"], second[0]["type"]) == ("DEV202", "error")
    assert first[1] == second[1] == _kept(f"{evil} end")
    assert harmless(text.replace("##vso[task.logissue ", "task.logissue "))


def _of_azure(row: str) -> tuple[dict[str, str], str]:
    """A logging command as Azure's agent reads it."""
    head, _, data = row.removeprefix("##vso[task.logissue ").partition("]")
    pairs = (pair.split("=", 1) for pair in head.split(";") if pair)
    escapes = {"%3B": ";", "%5D": "]", "%0D": "\r", "%0A": "\n", "%AZP25": "%"}

    def read(text: str) -> str:
        for escape, character in escapes.items():
            text = text.replace(escape, character)
        return text

    return {key: read(value) for key, value in pairs}, read(data)


@evil_strings
def test_pylint_gets_one_line_a_finding(evil: str) -> None:
    text = printed("pylint", evil)
    assert harmless(text)
    row = found(evil).span.row
    assert text == f"{line(f'{as_name(evil)}:{row}: [DEV202] {evil} end')}\n"


@evil_strings
def test_rdjson_keeps_what_is_said(evil: str) -> None:
    text = printed("rdjson", evil)
    assert harmless(text)
    [found] = json.loads(text)["diagnostics"]
    assert found["location"]["path"] == readable(as_name(evil))
    assert found["message"] == readable(f"{evil} end\n{evil} end")
    assert found["suggestions"][0]["text"] == readable(f"{evil}\n{evil}")


@evil_strings
def test_gitlab_gets_no_links_and_no_html(evil: str) -> None:
    [issue] = json.loads(printed("gitlab", evil))
    assert issue["location"]["path"] == readable(as_name(evil))
    assert harmless(issue["description"])
    assert "\n" not in issue["description"]
    assert not re.search(r"\]\(|(?<!\\)<[A-Za-z/!?]", issue["description"])


@evil_strings
def test_junit_is_xml(evil: str) -> None:
    text = printed("junit", evil)
    assert harmless(text)
    expat.ParserCreate().Parse(text.encode(), True)
    root = ElementTree.fromstring(text.encode())
    case, broken = root.iter("testcase")
    assert case.get("file") == line(as_name(evil))
    [failure], [error] = case, broken
    assert failure.get("message") == error.get("message") == line(f"{evil} end")
    assert len((failure.text or "").splitlines()) == 4
    assert error.text == line(f"{evil} end")
