"""Input that asks for more time or memory than it is long: it is read in seconds, or refused in one
sentence."""

from __future__ import annotations

import pytest
from driver.conftest import CLEAN, Project

DEEP = 3_000


def test_a_configuration_that_is_nested_too_deeply_is_one_sentence(project: Project) -> None:
    project.write({"a.py": CLEAN, "devlint.toml": f"select = {'[' * DEEP}{']' * DEEP}\n"})
    ran = project.concise()
    assert ran.code == 2
    assert ran.err == "devlint: devlint.toml: its values are nested too deeply\n"


def test_a_setting_that_is_nested_too_deeply_is_one_sentence(project: Project) -> None:
    project.write({"a.py": CLEAN})
    ran = project.concise("--config", f"select={'[' * DEEP}")
    assert ran.code == 2
    assert ran.err.endswith("its values are nested too deeply\n")
    assert "Traceback" not in ran.err


def test_a_number_too_long_to_convert_is_one_sentence(project: Project) -> None:
    project.write({"a.py": CLEAN, "devlint.toml": f"max-file-size = {'9' * 5000}\n"})
    ran = project.concise()
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.startswith("devlint: devlint.toml: ")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"version": 1, "findings": ' + "[" * 100_000])
def test_a_baseline_that_is_nested_too_deeply_is_one_sentence(project: Project, text: str) -> None:
    project.write({"a.py": CLEAN, "known.json": text})
    ran = project.concise("--baseline=known.json")
    assert ran.code == 2
    assert "known.json: it is nested too deeply for a baseline of devlint" in ran.err
    assert "Traceback" not in ran.err
