"""The formats for machines, and the short ones for people."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from report.sample import HARDCODED, MISMATCH, SOURCE, Trouble, finding, span
from report.sarif_schema import SARIF

from devlint.config import rulebook
from devlint.model.findings import (
    OUTPUT_FORMATS,
    Confidence,
    Edit,
    Finding,
    Fix,
    Level,
    Safety,
    Step,
)
from devlint.report import Summary, render, statistics
from devlint.report.linehash import line_hashes
from devlint.report.sarif_format import semantic

NASTY = "a%b,c:d\r\n<é>&\"'\x00\x1b\ud800"


def shown(output_format: str, *findings: Finding, **summary: Any) -> str:
    return render(output_format, findings, Summary(**summary), False, lambda filename: SOURCE)


# --- short ones ----------------------------------------------------------------------------


def test_concise() -> None:
    assert shown("concise", HARDCODED, MISMATCH).splitlines()[:2] == [
        "train.py:8:5: DEV202 `y` is on cpu but `x` is on cuda",
        "train.py:9:1: DEV104 [*] the index 1 is fixed",
    ]


def test_grouped() -> None:
    other = finding(SOURCE, "x", filename="b.py", message="far away")
    assert shown("grouped", HARDCODED, MISMATCH, other).splitlines()[:6] == [
        "b.py:",
        "  3:1  DEV202 far away",
        "",
        "train.py:",
        "  8:5  DEV202 `y` is on cpu but `x` is on cuda",
        "  9:1  DEV104 [*] the index 1 is fixed",
    ]


def test_findings_are_sorted_by_place() -> None:
    last = finding(SOURCE, "x", filename="z.py")
    lines = shown("concise", last, MISMATCH).splitlines()[:2]
    names = [line.partition(":")[0] for line in lines]
    assert names == ["train.py", "z.py"]


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'yaml'.*sarif"):
        shown("yaml")


# --- JSON ----------------------------------------------------------------------------------


def test_json() -> None:
    assert json.loads(shown("json", MISMATCH)) == [
        {
            "filename": "train.py",
            "cell": None,
            "location": {"row": 8, "column": 5},
            "end_location": {"row": 8, "column": 10},
            "code": "DEV202",
            "name": "operands-on-other-devices",
            "level": "error",
            "confidence": 100,
            "message": "`y` is on cpu but `x` is on cuda",
            "help": "make `y` where `x` is",
            "url": f"{rulebook.RULES_URL}/operands-on-other-devices.md",
            "trace": [
                {
                    "message": "made on cuda here",
                    "filename": "train.py",
                    "cell": None,
                    "location": {"row": 3, "column": 5},
                    "end_location": {"row": 3, "column": 33},
                },
                {
                    "message": "made on cpu here",
                    "filename": "train.py",
                    "cell": None,
                    "location": {"row": 4, "column": 5},
                    "end_location": {"row": 4, "column": 19},
                },
                {
                    "message": "used together here",
                    "filename": "train.py",
                    "cell": None,
                    "location": {"row": 8, "column": 5},
                    "end_location": {"row": 8, "column": 10},
                },
            ],
            "derivation": ["source.default-device", "source.named"],
            "fixable": False,
            "fix": {
                "applicability": "unsafe",
                "message": "move it",
                "filename": "train.py",
                "edits": [
                    {
                        "content": ".to(x.device)",
                        "cell": None,
                        "location": {"row": 8, "column": 10},
                        "end_location": {"row": 8, "column": 10},
                    }
                ],
            },
        }
    ]


def test_json_without_a_fix_or_findings() -> None:
    bare, safe = json.loads(shown("json", finding(SOURCE, "x"), HARDCODED))
    assert (bare["fix"], bare["fixable"], bare["help"]) == (None, False, None)
    assert (safe["fix"]["applicability"], safe["fixable"]) == ("safe", True)
    assert json.loads(shown("json")) == []
    assert shown("json-lines") == ""


def test_json_lines_are_the_objects_of_json() -> None:
    lines = shown("json-lines", MISMATCH, HARDCODED).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(shown("json", MISMATCH, HARDCODED))


# --- SARIF ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "semantic_version"),
    [
        ("0.1.0", "0.1.0"),
        ("1.2", "1.2.0"),
        ("1.2.0rc1", "1.2.0-rc.1"),
        ("0.1.0.dev909+g600663f", "0.1.0-dev.909+g600663f"),
        ("0.1.0.post1.dev2", "0.1.0-post.1.dev.2"),
        ("0.0.0+source", "0.0.0+source"),
    ],
)
def test_a_version_as_the_standard_wants_it(version: str, semantic_version: str) -> None:
    assert semantic(version) == semantic_version


def sarif(*findings: Finding, **summary: Any) -> dict[str, Any]:
    """A SARIF log, checked against what the standard says of it."""
    log: dict[str, Any] = json.loads(shown("sarif", *findings, **summary))
    jsonschema.validate(log, SARIF)
    for run in log["runs"]:
        ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(set(ids)) == len(ids)
        assert [ids[result["ruleIndex"]] for result in run["results"]] == [
            result["ruleId"] for result in run["results"]
        ]
    return log


def test_the_schema_holds_and_refuses() -> None:
    jsonschema.Draft202012Validator.check_schema(SARIF)
    log = sarif(MISMATCH)
    [run] = log["runs"]
    del run["results"][0]["message"]
    run["results"][0]["severity"] = "error"
    run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    run["tool"]["driver"]["rules"][0]["helpUri"] = "rules/x.md"
    errors = jsonschema.Draft202012Validator(SARIF).iter_errors(log)
    assert sorted(str(error.validator) for error in errors) == [
        "additionalProperties",
        "minimum",
        "pattern",
        "required",
    ]


def test_sarif_result() -> None:
    unsure = replace(HARDCODED, confidence=Confidence.MEDIUM, score=65)
    [run] = sarif(unsure, MISMATCH)["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["invocations"] == [{"executionSuccessful": True}]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["DEV104", "DEV202"]
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("DEV202", 1, "error")
    assert (second["ruleId"], second["ruleIndex"], second["level"]) == ("DEV104", 0, "warning")
    assert (first["rank"], second["rank"]) == (100, 65)
    [location] = first["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "train.py"},
        "region": {"startLine": 8, "startColumn": 5, "endLine": 8, "endColumn": 10},
    }
    [flow] = first["codeFlows"][0]["threadFlows"]
    steps = [step["location"]["message"]["text"] for step in flow["locations"]]
    assert steps == [
        "made on cuda here",
        "made on cpu here",
        "used together here",
        "`y` is on cpu but `x` is on cuda",
    ]
    assert [related["id"] for related in first["relatedLocations"]] == [1, 2, 3]
    assert first["properties"] == {"derivation": ["source.default-device", "source.named"]}
    assert "properties" not in second
    [change] = first["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 8, "startColumn": 10, "endLine": 8, "endColumn": 10},
            "insertedContent": {"text": ".to(x.device)"},
        }
    ]
    assert "codeFlows" not in second


def test_sarif_describes_its_rules_with_their_pages() -> None:
    page = rulebook.pages()["operands-on-other-devices"]
    [rule] = sarif(MISMATCH)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == page.summary
    assert rule["help"]["markdown"] == page.body.strip()
    assert rule["helpUri"] == page.url
    assert 0 < len(rule["fullDescription"]["text"]) <= 1024
    assert "##" not in rule["fullDescription"]["text"]
    assert rule["defaultConfiguration"] == {"enabled": True, "level": "error"}
    assert rule["properties"]["precision"] == "high"
    assert rule["properties"]["problem.severity"] == "error"
    assert set(page.tags) < set(rule["properties"]["tags"])


def test_sarif_of_every_rule_is_valid() -> None:
    findings = [
        finding(SOURCE, "x", code=page.code, name=page.name, level=page.level)
        for page in rulebook.pages().values()
    ]
    rules = sarif(*findings)["runs"][0]["tool"]["driver"]["rules"]
    severities = {rule["properties"]["problem.severity"] for rule in rules}
    assert severities <= {"error", "warning", "recommendation"}
    assert len(rules) == len(findings)


def test_sarif_uris_are_relative_and_encoded(tmp_path: Path) -> None:
    def uri(filename: str) -> str:
        run = sarif(finding(SOURCE, "x", filename=filename), root=tmp_path)["runs"][0]
        found: str = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"][
            "uri"
        ]
        return found

    assert uri(str(tmp_path / "a b" / "c#é.py")) == "a%20b/c%23%C3%A9.py"
    assert uri(str(tmp_path / "c:d.py")) == "c%3Ad.py"
    assert uri("/elsewhere/x.py") == "file:///elsewhere/x.py"


def test_sarif_tells_of_failures(tmp_path: Path) -> None:
    troubles = (Trouble(str(tmp_path / "a b.py"), "internal error"), Trouble("", "no such option"))
    [run] = sarif(failures=troubles, root=tmp_path)["runs"]
    [invocation] = run["invocations"]
    assert invocation["executionSuccessful"] is False
    first, second = invocation["toolExecutionNotifications"]
    assert first["message"]["text"] == "internal error"
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b.py"
    assert second["message"]["text"] == "no such option"
    assert run["results"] == []


def test_sarif_fingerprints_outlive_moved_lines() -> None:
    def marks(text: str) -> dict[str, str]:
        log = json.loads(
            render("sarif", [finding(text, "x.cuda(1)")], Summary(), False, lambda _: text)
        )
        found: dict[str, str] = log["runs"][0]["results"][0]["partialFingerprints"]
        return found

    assert marks(SOURCE) == marks(f"# a\n# b\n{SOURCE}")
    assert marks(SOURCE)["primaryLocationLineHash"] != marks(SOURCE)["devlint/v1"]
    assert marks(SOURCE) != marks(SOURCE.replace("x.cuda(1)", "if 1: x.cuda(1)"))


@pytest.mark.parametrize(
    ("text", "hashes"),
    [
        # As GitHub's own upload action computes them.
        ("", ["c129715d7a2bc9a3:1"]),
        (
            " a\nb\n  \t\tc\n d",
            ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"],
        ),
    ],
)
def test_line_hashes(text: str, hashes: list[str]) -> None:
    assert line_hashes(text) == hashes
    assert line_hashes(text.replace("\n", "\r\n")) == hashes


def test_line_hashes_count_equal_lines() -> None:
    hashes = line_hashes("x = 1\n" * 200)
    assert len(hashes) == 201
    assert len(set(hashes)) == 201
    assert hashes[0].split(":")[0] == hashes[1].split(":")[0]
    assert [line.split(":")[1] for line in hashes[:3]] == ["1", "2", "3"]


# --- GitHub, GitLab, JUnit -----------------------------------------------------------------


def test_github() -> None:
    assert shown("github", MISMATCH, HARDCODED).splitlines() == [
        "::error file=train.py,line=8,endLine=8,col=5,endColumn=10,"
        "title=DEV202 operands-on-other-devices::"
        "train.py:8:5: DEV202 `y` is on cpu but `x` is on cuda",
        "::warning file=train.py,line=9,endLine=9,col=1,endColumn=10,"
        "title=DEV104 hardcoded-device-index::train.py:9:1: DEV104 the index 1 is fixed",
    ]


def test_github_escapes() -> None:
    odd = finding(SOURCE, "x", message="100%\nnext, and: so", filename="a,b:c%.py")
    [line] = shown("github", odd).splitlines()
    command, properties, message = line[2:].split(" ", 1)[0], *line[2:].split(" ", 1)[1].split("::")
    assert command == "error"
    assert properties.startswith("file=a%2Cb%3Ac%25.py,line=3,")
    assert message.endswith("DEV202 100%25%0Anext, and: so")


def test_github_gives_no_columns_over_several_lines() -> None:
    [line] = shown("github", finding(SOURCE, "z = x + y\nx", level=Level.OFF)).splitlines()
    assert line.startswith("::notice file=train.py,line=8,endLine=9,title=")


def test_github_tells_of_failures() -> None:
    assert shown("github", failures=(Trouble("", "broken"),)) == "::error title=devlint::broken\n"


def test_gitlab() -> None:
    first, second = json.loads(shown("gitlab", MISMATCH, HARDCODED))
    assert first["description"] == "DEV202: `y` is on cpu but `x` is on cuda"
    assert first["check_name"] == "DEV202"
    assert first["location"]["path"] == "train.py"
    assert first["location"]["lines"] == {"begin": 8, "end": 8}
    assert (first["severity"], second["severity"]) == ("major", "minor")
    assert first["fingerprint"] != second["fingerprint"]


def test_junit() -> None:
    root = ElementTree.fromstring(shown("junit", MISMATCH, HARDCODED))
    assert root.attrib == {"name": "devlint", "tests": "2", "failures": "2", "errors": "0"}
    [suite] = root
    case, _ = suite
    assert case.get("file") == "train.py"
    assert case.get("line") == "8"
    [failure] = case
    assert failure.get("message") == MISMATCH.message
    assert "train.py:4:5: made on cpu here" in (failure.text or "")


def test_junit_without_findings_has_one_case_that_passes() -> None:
    root = ElementTree.fromstring(shown("junit"))
    assert [len(case) for case in root.iter("testcase")] == [0]


def test_junit_tells_of_failures() -> None:
    root = ElementTree.fromstring(shown("junit", failures=(Trouble("a.py", "broken \x00"),)))
    assert root.get("errors") == "1"
    [error] = root.iter("error")
    assert error.get("message") == r"broken \x00"


# --- pylint, Azure, Reviewdog --------------------------------------------------------------


def test_pylint() -> None:
    assert shown("pylint", HARDCODED, MISMATCH).splitlines() == [
        "train.py:8: [DEV202] `y` is on cpu but `x` is on cuda",
        "train.py:9: [DEV104] the index 1 is fixed",
    ]
    assert shown("pylint") == ""


def test_azure() -> None:
    assert shown("azure", MISMATCH, HARDCODED).splitlines() == [
        "##vso[task.logissue type=error;sourcepath=train.py;linenumber=8;columnnumber=5;"
        "code=DEV202;]`y` is on cpu but `x` is on cuda",
        "##vso[task.logissue type=warning;sourcepath=train.py;linenumber=9;columnnumber=1;"
        "code=DEV104;]the index 1 is fixed",
    ]
    [note] = shown("azure", finding(SOURCE, "x", level=Level.OFF)).splitlines()
    assert note.startswith("##vso[task.logissue type=warning;")


def test_azure_escapes() -> None:
    odd = finding(SOURCE, "x", message="100%\nnext]; so", filename="a;b]c%.py")
    [line] = shown("azure", odd).splitlines()
    head, _, message = line.partition("]")
    assert ";sourcepath=a%3Bb%5Dc%AZP25.py;linenumber=3;" in head
    assert message == "100%AZP25%0Anext]; so"


def test_azure_tells_of_failures() -> None:
    troubles = (Trouble("", "broken"), Trouble("a.py", "gone"))
    assert shown("azure", failures=troubles).splitlines() == [
        "##vso[task.logissue type=error;]broken",
        "##vso[task.logissue type=error;sourcepath=a.py;]gone",
    ]


_POSITION = {
    "type": "object",
    "properties": {
        "line": {"type": "integer", "minimum": 1},
        "column": {"type": "integer", "minimum": 1},
    },
    "additionalProperties": False,
}
_RANGE = {
    "type": "object",
    "properties": {"start": _POSITION, "end": _POSITION},
    "required": ["start"],
    "additionalProperties": False,
}
_LINK = {
    "type": "object",
    "properties": {key: {"type": "string"} for key in ("name", "value", "url")},
    "additionalProperties": False,
}
RDF = {
    "type": "object",
    "properties": {
        "source": _LINK,
        "severity": {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]},
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "message": {"type": "string"},
                    "location": {
                        "type": "object",
                        "properties": {"path": {"type": "string"}, "range": _RANGE},
                        "required": ["path"],
                        "additionalProperties": False,
                    },
                    "severity": {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]},
                    "source": _LINK,
                    "code": _LINK,
                    "suggestions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"range": _RANGE, "text": {"type": "string"}},
                            "required": ["range", "text"],
                            "additionalProperties": False,
                        },
                    },
                },
                "required": ["message", "location"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["diagnostics"],
    "additionalProperties": False,
}
"""What Reviewdog reads: it refuses fields that it doesn't know."""


def rdjson(*findings: Finding, text: str = SOURCE) -> list[dict[str, Any]]:
    printed = render("rdjson", list(findings), Summary(), False, lambda _: text)
    result: dict[str, Any] = json.loads(printed)
    jsonschema.validate(result, RDF)
    assert result["source"]["name"] == "devlint"
    found: list[dict[str, Any]] = result["diagnostics"]
    return found


def test_rdjson() -> None:
    first, second = rdjson(HARDCODED, MISMATCH)
    assert first == {
        "message": "`y` is on cpu but `x` is on cuda\nmake `y` where `x` is",
        "location": {
            "path": "train.py",
            "range": {"start": {"line": 8, "column": 5}, "end": {"line": 8, "column": 10}},
        },
        "severity": "ERROR",
        "code": {
            "value": "DEV202",
            "url": f"{rulebook.RULES_URL}/operands-on-other-devices.md",
        },
        "suggestions": [
            {
                "range": {"start": {"line": 8, "column": 10}, "end": {"line": 8, "column": 10}},
                "text": ".to(x.device)",
            }
        ],
    }
    assert second["severity"] == "WARNING"
    assert second["suggestions"][0]["text"] == ""
    [note] = rdjson(finding(SOURCE, "x", level=Level.OFF))
    assert note["severity"] == "INFO"
    assert "suggestions" not in note
    assert rdjson() == []


def test_rdjson_counts_bytes() -> None:
    text = "\u00e4 = '\u4e2d\U0001f600'; x.cuda(1)\n"
    fix = Fix("drop it", Safety.SAFE, (Edit(span(text, "1"), ""),))
    [found] = rdjson(finding(text, "x.cuda(1)", fix=fix), text=text)
    before = len(text[: text.index("x.cuda")].encode())
    assert found["location"]["range"]["start"]["column"] == before + 1
    assert found["location"]["range"]["end"]["column"] == before + 10
    assert found["suggestions"][0]["range"]["start"]["column"] == before + 8


def test_rdjson_makes_one_suggestion_of_all_edits_of_a_fix() -> None:
    edits = (Edit(span(SOURCE, "torch.ones"), "ONES"), Edit(span(SOURCE, "x + y"), "x - y"))
    fix = Fix("both", Safety.UNSAFE, edits)
    [found] = rdjson(finding(SOURCE, "x", fix=fix))
    [suggestion] = found["suggestions"]
    assert suggestion["range"] == {
        "start": {"line": 3, "column": 5},
        "end": {"line": 8, "column": 10},
    }
    start, end = SOURCE.index("torch.ones"), SOURCE.index("x + y") + len("x + y")
    expected = SOURCE[start:end].replace("torch.ones", "ONES").replace("x + y", "x - y")
    assert suggestion["text"] == expected


def test_rdjson_without_the_source_says_lines_only() -> None:
    printed = render("rdjson", [MISMATCH], Summary(), False, lambda _: None)
    [found] = json.loads(printed)["diagnostics"]
    assert found["location"]["range"] == {"start": {"line": 8}, "end": {"line": 8}}
    assert "suggestions" not in found
    [changed] = rdjson(MISMATCH, text="import torch\n")
    assert "suggestions" not in changed


@pytest.mark.parametrize("output_format", OUTPUT_FORMATS)
def test_no_format_stumbles_over_odd_characters(output_format: str) -> None:
    odd = finding(
        SOURCE,
        "x",
        Step(span(SOURCE, "y"), NASTY),
        message=NASTY,
        help=NASTY,
        filename="ü\udcff.py",
        fix=Fix(NASTY, Safety.SAFE, ()),
    )
    text = shown(output_format, odd, failures=(Trouble("ü\udcff.py", NASTY),))
    assert "\x00" not in text
    assert "\x1b" not in text
    if output_format.startswith("json") or output_format in ("sarif", "gitlab", "rdjson"):
        json.loads(text)
    if output_format == "junit":
        ElementTree.fromstring(text)
    if output_format in ("concise", "github", "azure"):
        assert len(text.splitlines()) == 2
    if output_format == "pylint":
        assert len(text.splitlines()) == 1


# --- statistics ----------------------------------------------------------------------------


def test_statistics() -> None:
    found = [HARDCODED, MISMATCH, HARDCODED, *[HARDCODED] * 9]
    assert statistics("full", found).splitlines() == [
        "11  DEV104  [*] hardcoded-device-index",
        " 1  DEV202  [ ] operands-on-other-devices",
    ]
    assert json.loads(statistics("json", [MISMATCH])) == [
        {
            "code": "DEV202",
            "name": "operands-on-other-devices",
            "count": 1,
            "fixable": 0,
            "fixable_unsafe": 1,
        }
    ]
    assert statistics("full", []) == ""
