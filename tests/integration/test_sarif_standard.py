"""Real SARIF output is held to the schema of the standard.

The schema is that of OASIS, as a package of the npm registry carries it: it is fetched, because
it is not ours to copy into this repository. Where `npm` isn't installed these tests are skipped,
the only ones of all. Nothing goes unchecked then: `tests/report` holds every output to a narrower
schema of our own, written from the standard, which needs neither npm nor a network.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
SCHEMA = "package/lib/schemas/sarif-2.1.0-rtm.5.json"

Json = dict[str, Any]


@pytest.fixture(scope="module")
def standard(tmp_path_factory: pytest.TempPathFactory) -> jsonschema.Draft4Validator:
    """The schema of SARIF 2.1.0, which is written in draft 4 of JSON Schema."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("the schema is fetched by npm, which isn't installed")
    folder = tmp_path_factory.mktemp("schema")
    subprocess.run([npm, "pack", "--silent", PACKAGE], cwd=folder, check=True)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as package:
        member = package.extractfile(SCHEMA)
        assert member is not None
        schema = json.load(member)
    jsonschema.Draft4Validator.check_schema(schema)
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


def log_of(folder: Path, *options: str) -> Json:
    """What devlint writes about a folder, run from there."""
    command = [sys.executable, "-m", "devlint", "check", "--isolated", "--no-cache"]
    done = subprocess.run(
        [*command, "--output-format=sarif", *options], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode in (1, 2), done.stderr
    log: Json = json.loads(done.stdout)
    return log


def test_the_output_for_the_examples_is_valid(standard: jsonschema.Draft4Validator) -> None:
    log = log_of(EXAMPLES)
    results = log["runs"][0]["results"]
    assert any("codeFlows" in result for result in results)
    assert any("fixes" in result for result in results)
    assert [error.message for error in standard.iter_errors(log)] == []


def test_the_output_about_failures_is_valid(
    standard: jsonschema.Draft4Validator, tmp_path: Path
) -> None:
    (tmp_path / "b\u00e4d file.py").write_text("def f(:\n")
    log = log_of(tmp_path, ".", "missing.py")
    [run] = log["runs"]
    assert run["results"]
    assert run["invocations"][0]["toolExecutionNotifications"]
    assert [error.message for error in standard.iter_errors(log)] == []


def test_the_schema_refuses_what_is_wrong(standard: jsonschema.Draft4Validator) -> None:
    log = log_of(EXAMPLES)
    result = log["runs"][0]["results"][0]
    result["level"] = "fatal"
    del result["message"]
    result["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    errors = {error.validator for error in standard.iter_errors(log)}
    assert errors == {"enum", "required", "minimum"}
