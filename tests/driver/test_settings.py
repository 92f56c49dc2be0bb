"""Configuration: which file holds, what it may say, and what is said of mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from driver.conftest import BAD_DEVICE, Project

from devlint.config import settings_schema
from devlint.config.settings import file_keys

LOAD = 'import torch\n\nw = torch.load("w.pt")\nd = torch.device("gpu")\n'
"""DEV106 (a warning) and DEV304."""

MISTAKES = {
    "unknown key": (
        "devlint.toml",
        'selct = ["ALL"]',
        'devlint.toml: unknown key `selct`; did you mean "select"?',
    ),
    "unknown key in pyproject": (
        "pyproject.toml",
        "[tool.devlint]\nper-file-ignore = {}",
        "pyproject.toml: unknown key `tool.devlint.per-file-ignore`; "
        'did you mean "per-file-ignores"?',
    ),
    "underscore": (
        "devlint.toml",
        "force_exclude = true",
        'devlint.toml: unknown key `force_exclude`; did you mean "force-exclude"?',
    ),
    "string for a list": (
        "devlint.toml",
        'select = "ALL"',
        "devlint.toml: `select` must be a list of strings, not `'ALL'`",
    ),
    "number for a boolean": (
        "devlint.toml",
        "follow-imports = 1",
        "devlint.toml: `follow-imports` must be true or false, not `1`",
    ),
    "a key that writes": (
        "pyproject.toml",
        "[tool.devlint]\nfix = true",
        "pyproject.toml: `tool.devlint.fix` can't be set in a configuration file, which may not be "
        "yours: use --fix on the command line",
    ),
    "a key that is asked for once": (
        "devlint.toml",
        "ignore-noqa = true",
        "devlint.toml: `ignore-noqa` can't be set in a configuration file: use --ignore-noqa on ",
    ),
    "a folder to write to": (
        "devlint.toml",
        'cache-dir = "/etc"',
        "devlint.toml: `cache-dir` can't be set in a configuration file, which may not be yours: ",
    ),
    "boolean for a number": (
        "devlint.toml",
        "max-file-size = true",
        "devlint.toml: `max-file-size` must be a number of bytes from 1 to 67,108,864, not `true`",
    ),
    "unknown format": (
        "devlint.toml",
        'output-format = "xml"',
        "devlint.toml: `output-format` must be one of full, concise, grouped, json, json-lines, "
        "sarif, github, gitlab, junit, pylint, azure, rdjson, html, not `'xml'`",
    ),
    "unknown level to fail on": (
        "devlint.toml",
        'fail-on = "errors"',
        "devlint.toml: `fail-on` must be one of error, warning, never, not `'errors'`; "
        'did you mean "error"?',
    ),
    "unknown level": (
        "pyproject.toml",
        '[tool.devlint.levels]\nDEV1 = "error"\nDEV2 = "warn"',
        'pyproject.toml: `tool.devlint.levels."DEV2"` must be one of error, warning, off, not '
        "`'warn'`",
    ),
    "mistyped level": (
        "devlint.toml",
        'levels = { DEV2 = "warnin" }',
        "devlint.toml: `levels.\"DEV2\"` must be one of error, warning, off, not `'warnin'`; "
        'did you mean "warning"?',
    ),
    "levels in a list": (
        "devlint.toml",
        'levels = ["DEV2"]',
        "devlint.toml: `levels` must be a table of levels by rule, not `['DEV2']`",
    ),
    "level of an unknown rule": (
        "devlint.toml",
        'levels = { discarded-moves = "error" }',
        'devlint.toml: unknown rule selector `discarded-moves`; did you mean "discarded-move"?',
    ),
    "not a table": (
        "pyproject.toml",
        "[tool]\ndevlint = 3",
        "pyproject.toml: `devlint` must be a table, not 3",
    ),
    "unknown selector": (
        "devlint.toml",
        'ignore = ["discarded-moves"]',
        'devlint.toml: unknown rule selector `discarded-moves`; did you mean "discarded-move"?',
    ),
    "unknown selector of a file": (
        "devlint.toml",
        'per-file-ignores = { "*.py" = ["DEV999"] }',
        "per-file-ignores: unknown rule selector `DEV999`",
    ),
    "header of another file": (
        "devlint.toml",
        '[tool.devlint]\nselect = ["ALL"]',
        "devlint.toml: keys stand here without `[tool.devlint]` above them",
    ),
    "device with an index": (
        "devlint.toml",
        'device-types = ["npu:0"]',
        'devlint.toml: `device-types` must be a list of device types such as "npu", ',
    ),
    "malformed": ("devlint.toml", "select = [", "devlint.toml: "),
    "missing parent": (
        "devlint.toml",
        'extend = "../none.toml"',
        "devlint.toml: `extend`: there is no file ",
    ),
    "malformed row": (
        "devlint.toml",
        'torchapi = { "mylib.move" = { effect = "teleport" } }',
        'devlint.toml: `torchapi`: "mylib.move"',
    ),
    "wrong type in a table": (
        "pyproject.toml",
        '[tool.devlint.per-file-ignores]\n"a.py" = []\n"b.py" = "DEV1"',
        'pyproject.toml: `tool.devlint.per-file-ignores."b.py"` must be a list of strings, not ',
    ),
    "malformed pattern": (
        "devlint.toml",
        'exclude = ["!"]',
        "devlint.toml: `exclude`: `!` is no pattern",
    ),
    "malformed pattern of a file": (
        "pyproject.toml",
        "[tool.devlint]\nper-file-ignores = { 'a\\' = [] }",
        "pyproject.toml: `tool.devlint.per-file-ignores`: `a\\` is no pattern",
    ),
}


@pytest.mark.parametrize(("name", "text", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_that_says_where(
    project: Project, name: str, text: str, message: str
) -> None:
    project.write({name: text + "\n", "a.py": LOAD})
    ran = project.run("--no-cache", ".")
    assert ran.err.startswith(f"devlint: {message}")
    assert ran.err.count("\n") == 1
    assert (ran.code, ran.out) == (2, "")


def test_a_mistake_is_an_error_where_nothing_is_linted(project: Project) -> None:
    project.write({"devlint.toml": 'select = ["DEV9"]\n', "a.py": ""})
    assert project.run(".").code == 2


def test_the_nearest_file_wins(project: Project) -> None:
    project.write(
        {
            "pyproject.toml": '[tool.devlint]\nignore = ["DEV3"]\n',
            "a.py": LOAD,
            "sub/devlint.toml": 'ignore = ["DEV1"]\n',
            "sub/b.py": LOAD,
            "sub/deep/pyproject.toml": "[tool.other]\n",
            "sub/deep/c.py": LOAD,
        }
    )
    assert project.found(".") == ["a.py DEV106", "sub/b.py DEV304", "sub/deep/c.py DEV304"]
    assert project.found("sub/deep/c.py") == ["sub/deep/c.py DEV304"]


def test_one_folder_has_one_file(project: Project) -> None:
    project.write(
        {
            "pyproject.toml": '[tool.devlint]\nignore = ["ALL"]\n',
            "devlint.toml": 'ignore = ["DEV3"]\n',
            "a.py": LOAD,
        }
    )
    assert project.found(".") == ["a.py DEV106"]
    project.write({".devlint.toml": 'ignore = ["DEV1"]\n'})
    assert project.found(".") == ["a.py DEV304"]


def test_extend_inherits_and_extend_keys_add_up(project: Project) -> None:
    project.write(
        {
            "base.toml": 'ignore = ["DEV3"]\nextend-exclude = ["gen"]\nmax-file-size = 1000\n',
            "sub/devlint.toml": 'extend = "../base.toml"\nextend-exclude = ["old"]\n',
            "sub/a.py": LOAD,
            "sub/gen/b.py": LOAD,  # patterns of the parent start from its own folder
            "sub/old/c.py": LOAD,
        }
    )
    assert project.found(".") == ["sub/a.py DEV106"]


def test_extend_in_a_circle(project: Project) -> None:
    project.write({"devlint.toml": 'extend = "b.toml"\n', "b.toml": 'extend = "devlint.toml"\n'})
    ran = project.run(".")
    assert ran.err == (
        "devlint: devlint.toml: `extend` goes in a circle: devlint.toml -> b.toml -> devlint.toml\n"
    )
    assert ran.code == 2


def test_config_on_the_command_line(project: Project) -> None:
    project.write(
        {
            "devlint.toml": 'ignore = ["DEV1", "DEV3"]\n',
            "other.toml": 'ignore = ["DEV3"]\n',
            "a.py": LOAD,
        }
    )
    assert project.found(".") == []
    assert project.found("--isolated", ".") == ["a.py DEV106", "a.py DEV304"]
    assert project.found("--config", "other.toml", ".") == ["a.py DEV106"]
    assert project.found("--config", "select = ['DEV304']", ".") == ["a.py DEV304"]
    assert "there is no file `x.toml`" in project.run("--config", "x.toml").err
    assert "unknown key `x`" in project.run("--config", "x = 1").err
    assert project.run("--isolated", "--config", "other.toml").code == 2
    assert project.run("--config", "other.toml", "--config", "devlint.toml").code == 2


def test_the_environment_stands_between_files_and_command_line(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"devlint.toml": 'output-format = "json"\n', "a.py": LOAD})
    monkeypatch.setenv("DEVLINT_OUTPUT_FORMAT", "github")
    assert project.run("-n").out.startswith("::")
    assert project.run("-n", "--output-format", "concise").out.startswith("a.py:")
    monkeypatch.setenv("DEVLINT_OUTPUT_FORMAT", "xml")
    assert project.run("-n").err.startswith("devlint: the environment: `output-format` must be")


def test_the_environment_names_a_configuration_file(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"other.toml": 'ignore = ["DEV1"]\n', "a.py": LOAD})
    monkeypatch.setenv("DEVLINT_CONFIG", "other.toml")
    assert project.found(".") == ["a.py DEV304"]


def test_a_broken_pyproject_of_somebody_else_does_not_matter(project: Project) -> None:
    project.write({"pyproject.toml": "[tool.black\n", "a.py": LOAD})
    assert project.concise(".").code == 1


SELECTIONS = {
    "default": ([], ["DEV106", "DEV304"]),
    "code": (["--select", "DEV106"], ["DEV106"]),
    "lower case": (["--select", "dev106"], ["DEV106"]),
    "prefix": (["--select", "DEV3"], ["DEV304"]),
    "name": (["--select", "invalid-device"], ["DEV304"]),
    "all": (["--select", "ALL"], ["DEV106", "DEV304"]),
    "list": (["--select", "DEV106,DEV304"], ["DEV106", "DEV304"]),
    "repeated": (["--select", "DEV106", "--select", "DEV304"], ["DEV106", "DEV304"]),
    "ignore wins over an equal": (["--select", "DEV1", "--ignore", "DEV1"], []),
    "longer prefix wins": (["--select", "DEV106", "--ignore", "DEV1"], ["DEV106"]),
    "longer ignore wins": (["--select", "ALL", "--ignore", "DEV30"], ["DEV106"]),
    "name over prefix": (["--select", "invalid-device", "--ignore", "DEV30"], ["DEV304"]),
    "extend": (["--select", "DEV1", "--extend-select", "DEV304"], ["DEV106", "DEV304"]),
    "per file": (["--per-file-ignores", "a.py:DEV1,b.py:DEV3"], ["DEV304"]),
    "per file, other folder": (["--per-file-ignores", "x/*.py:DEV1"], ["DEV106", "DEV304"]),
    "per file, negated": (["--per-file-ignores", "!b.py:DEV1"], ["DEV304"]),
}


@pytest.mark.parametrize(("options", "codes"), SELECTIONS.values(), ids=SELECTIONS)
def test_selection(project: Project, options: list[str], codes: list[str]) -> None:
    project.write({"a.py": LOAD})
    assert [line.split()[1] for line in project.found(*options, ".")] == codes


def test_a_rule_that_is_off_runs_when_it_is_asked_for(project: Project) -> None:
    guarded = "import torch\n\nif torch.cuda.is_available():\n    torch.zeros(3).cuda().sum()\n"
    project.write({"a.py": guarded})
    assert "a.py DEV102" not in project.found(".")
    assert "a.py DEV102" in project.found("--extend-select", "DEV102", ".")
    assert "a.py DEV102" in project.found("--select", "ALL", ".")


def test_the_command_line_selects_afresh(project: Project) -> None:
    project.write({"devlint.toml": 'select = ["DEV1"]\nignore = ["DEV304"]\n', "a.py": LOAD})
    assert project.found("--select", "DEV304", ".") == ["a.py DEV304"]
    assert project.found("--extend-select", "DEV3", ".") == ["a.py DEV106", "a.py DEV304"]
    assert project.found("--ignore", "DEV1", ".") == []


def test_a_file_that_can_not_be_checked_is_told_whatever_is_selected(project: Project) -> None:
    project.write({"a.py": "def f(:\n"})
    assert project.found("--select", "DEV2", ".") == ["a.py DEV001"]
    assert project.concise("--ignore", "DEV001", ".").code == 0
    assert project.concise("--per-file-ignores", "a.py:DEV001", ".").code == 0


def test_per_file_ignores_add_up(project: Project) -> None:
    project.write(
        {
            "devlint.toml": 'extend = "base.toml"\n[extend-per-file-ignores]\n"a.py" = ["DEV1"]\n',
            "base.toml": '[per-file-ignores]\n"lib/" = ["DEV304"]\n',
            "a.py": LOAD,
            "lib/b.py": LOAD,
        }
    )
    assert project.found(".") == ["a.py DEV304", "lib/b.py DEV106"]


def test_rows_for_your_own_functions(project: Project) -> None:
    rows = '[torchapi]\n"mylib.push" = { effect = "move", of = [0], to = "cuda" }\n'
    code = "import mylib\nimport torch\n\nx = mylib.push(torch.zeros(3))\nx.numpy()\n"
    project.write({"a.py": code})
    assert "a.py DEV205" not in project.found(".")
    project.write({"devlint.toml": rows})
    assert "a.py DEV205" in project.found(".")


def test_device_types_of_backend_packages(project: Project) -> None:
    project.write({"a.py": 'import torch\n\nd = torch.device("gpu")\n'})
    assert project.found(".") == ["a.py DEV304"]
    project.write({"devlint.toml": 'device-types = ["gpu"]\n'})
    assert project.found(".") == []


def test_the_schema_in_the_repository_is_up_to_date() -> None:
    path = Path(__file__).parents[2] / "devlint.schema.json"
    assert path.read_text(encoding="utf-8") == settings_schema.text()


def test_the_check_of_the_schema_fails_for_another_text(tmp_path: Path) -> None:
    path = tmp_path / "devlint.schema.json"
    path.write_text(settings_schema.text().replace("select", "elect", 1), encoding="utf-8")
    assert settings_schema.main(["--check", str(path)]) == 1
    path.write_text(settings_schema.text(), encoding="utf-8")
    assert settings_schema.main(["--check", str(path)]) == 0


def test_the_schema_accepts_and_refuses_what_devlint_does() -> None:
    validator = jsonschema.Draft7Validator(settings_schema.schema())
    validator.check_schema(settings_schema.schema())
    assert set(settings_schema.schema()["properties"]) == set(file_keys())
    for good in (
        {"select": ["ALL"]},
        {"follow-imports": True},
        {"per-file-ignores": {"*.py": ["DEV1"]}},
    ):
        assert validator.is_valid(good)
    for bad in (
        {"selct": []},
        {"select": "ALL"},
        {"max-file-size": 0},
        {"fix": True},
        {"output-format": "xml"},
    ):
        assert not validator.is_valid(bad)


@pytest.mark.parametrize("key", file_keys())
def test_every_key_is_explained(project: Project, key: str) -> None:
    ran = project.run("config", key)
    assert ran.code == 0
    assert ran.out.startswith(f"{key}\n\n")
    assert json.loads(project.run("config", key, "--output-format=json").out)[key]["description"]


def test_config_lists_keys_and_knows_the_nearest(project: Project) -> None:
    assert project.run("config").out.split() == list(file_keys())
    ran = project.run("config", "exlude")
    assert ran.err == 'devlint: there is no setting `exlude`; did you mean "exclude"?\n'
    assert ran.code == 2


def test_show_settings_tells_what_holds_for_a_file(project: Project) -> None:
    project.write({"sub/devlint.toml": "max-file-size = 77\n", "sub/a.py": BAD_DEVICE})
    ran = project.run("--show-settings", "sub/a.py")
    assert f"# root: {project.folder / 'sub'}" in ran.out
    assert "max-file-size = 77" in ran.out
    assert "DEV304" in ran.out
    assert ran.code == 0
