"""`devlint check --extension md:markdown`: what a run does with the Python in Markdown."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from driver.conftest import BAD_DEVICE, Project
from repository import Repository

ON_GPU = 'import torch\nx = torch.ones(3, device="cuda")\n'
MEETS = "y = torch.zeros(3)\nz = x + y\n"
ONLY = "--select=DEV202"
MD = "--extension=md:markdown"
PAGE = (
    f"# Title\n\n```python\n{ON_GPU}```\n\nThen:\n\n- item\n\n"
    "  ~~~ {.python}\n  y = torch.zeros(3)\n  z = x + y\n  ~~~\n\nEnd"
)


@pytest.fixture
def page(project: Project) -> Project:
    """A project with one page, in which two blocks meet, one of them in a list."""
    project.write({"a.md": PAGE})
    return project


# --- which files


def test_files_of_an_extension_are_found_and_named(page: Project) -> None:
    page.write({"docs/b.md": PAGE, "docs/c.txt": PAGE, "d.py": ""})
    found = ["a.md DEV202", "docs/b.md DEV202"]
    assert page.found(ONLY, ".") == []
    assert page.found(ONLY, MD, ".") == found
    assert page.found(ONLY, MD, "a.md") == found[:1]
    assert page.found(ONLY, MD, "--extension", "txt:markdown,foo:python", "docs") == [
        "docs/b.md DEV202",
        "docs/c.txt DEV202",
    ]
    assert page.found(ONLY, MD, "--extend-exclude=docs", ".") == found[:1]
    assert page.found(ONLY, MD, "--include=*.py", ".") == found


def test_a_configuration_names_extensions(page: Project) -> None:
    page.write({"pyproject.toml": '[tool.devlint]\nextension = { md = "markdown" }\n'})
    page.write({"docs/devlint.toml": 'extension = { txt = "python" }\n', "docs/b.txt": BAD_DEVICE})
    assert page.found(ONLY, ".") == ["a.md DEV202"]
    assert page.found("docs") == ["docs/b.txt DEV304"]
    assert page.found(ONLY, "--extension=txt:markdown", ".") == ["a.md DEV202"]
    assert page.found(ONLY, "--extension=md:python", "a.md") == ["a.md DEV001"]


def test_the_settings_in_force_name_extensions(project: Project) -> None:
    out = project.run(MD, "--show-settings", ".").out
    assert 'extension = { "md" = "markdown" }\n' in out


def test_any_language_may_be_that_of_an_extension(project: Project) -> None:
    cell = {"cell_type": "code", "source": BAD_DEVICE, "metadata": {}, "outputs": []}
    project.write({"a.foo": BAD_DEVICE, "a.nb": json.dumps({"cells": [cell]})})
    ran = project.concise("--extension=foo:python,nb:ipynb", ".")
    assert [line.split(" DEV304")[0] for line in ran.out.splitlines()] == [
        "a.foo:3:18:",
        "a.nb:cell 1:3:18:",
    ]
    assert project.run("why", "--extension=nb:ipynb", "a.nb:1:3").out.startswith("a.nb:cell 1:3\n")


@pytest.mark.parametrize("name", ["a.md", "README.markdown", "a.qmd", "a.Rmd"])
def test_markdown_without_the_option_says_how_it_is_read(project: Project, name: str) -> None:
    project.write({name: PAGE})
    ran = project.concise(name)
    suffix = name.partition(".")[2]
    assert ran.code == 2
    assert ran.out == (
        f"{name}:1:1: DEV003 Markdown, whose Python is read with `--extension {suffix}:markdown`\n"
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("md", "`md` is not of the form EXT:LANGUAGE, as `md:markdown` is"),
        (":markdown", "`:markdown` is not of the form EXT:LANGUAGE"),
        ("md:", "`md:` is not of the form EXT:LANGUAGE"),
        ("a/b:markdown", "`extension`: `a/b` is no extension, as `md` is"),
        (
            "md:markdwn",
            "`extension.\"md\"` must be one of python, ipynb, markdown, not `'markdwn'`; "
            'did you mean "markdown"?',
        ),
        ("md:rust", "`extension.\"md\"` must be one of python, ipynb, markdown, not `'rust'`\n"),
    ],
)
def test_nonsense_is_one_line(project: Project, value: str, message: str) -> None:
    ran = project.run("--no-cache", f"--extension={value}", ".")
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_a_dot_before_an_extension_is_no_part_of_it(page: Project) -> None:
    assert page.found(ONLY, "--extension", ".md:markdown", ".") == ["a.md DEV202"]


def test_pages_follow_what_they_import(project: Project) -> None:
    maker = 'import torch\n\ndef make():\n    return torch.ones(3, device="cuda")\n'
    block = "```python\nimport torch\nfrom maker import make\nz = make() + torch.zeros(3)\n```\n"
    project.write({"maker.py": maker, "a.md": block})
    assert project.concise(ONLY, MD, ".").out.startswith("a.md:4:14: DEV202")


def test_no_parser_of_markdown_is_loaded_for_python(page: Project) -> None:
    page.write({"a.py": BAD_DEVICE})
    code = (
        "import sys; from devlint.cli import main; main(sys.argv[1:]); "
        "print('markdown_it' in sys.modules)"
    )
    for name, loaded in (("a.py", "False"), ("a.md", "True")):
        command = [sys.executable, "-c", code, MD, "--no-cache", "--output-format=concise", name]
        done = subprocess.run(command, cwd=page.folder, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == loaded


# --- where findings are


def test_the_excerpt_shows_the_lines_of_the_file(page: Project) -> None:
    out = page.run("--no-cache", "--quiet", ONLY, MD, "a.md").out
    assert out == (
        "error[DEV202] operands-on-other-devices: `y` is on cpu but `x` is on cuda\n"
        "  --> a.md:14:11\n"
        "   |\n"
        ' 5 | x = torch.ones(3, device="cuda")\n'
        "   |     ---------------------------- made on cuda here\n"
        "...\n"
        "13 |   y = torch.zeros(3)\n"
        "   |       -------------- made without `device=` here: on the CPU\n"
        "14 |   z = x + y\n"
        "   |           ^\n"
        "   |\n"
        "   = help: make it there: `device=x.device`. The blocks may not be meant to run one after "
        "the other.\n"
        "   = fix: Make it on `x.device` (unsafe, --fix --unsafe-fixes)\n"
        "   |\n"
        "13 -   y = torch.zeros(3)\n"
        "13 +   y = torch.zeros(3, device=x.device)\n"
        "\n"
    )


def test_every_format_says_the_line_of_the_file(page: Project) -> None:
    def of(name: str) -> str:
        args = ("--no-cache", "--quiet", ONLY, MD, f"--output-format={name}", "a.md")
        return page.run(*args).out

    assert of("concise").startswith("a.md:14:11: DEV202 ")
    assert of("grouped").startswith("a.md:\n  14:11  DEV202 ")
    [found] = json.loads(of("json"))
    assert (found["cell"], found["location"]) == (None, {"row": 14, "column": 11})
    assert [step["location"]["row"] for step in found["trace"]] == [5, 13]
    [edit] = found["fix"]["edits"]
    assert edit["location"] == {"row": 13, "column": 20}
    assert "line=14,endLine=14,col=11," in of("github")
    assert "linenumber=14;columnnumber=11;" in of("azure")
    assert of("pylint").startswith("a.md:14: [DEV202] ")
    [diagnostic] = json.loads(of("rdjson"))["diagnostics"]
    assert diagnostic["location"]["range"]["start"] == {"line": 14, "column": 11}
    assert diagnostic["suggestions"][0]["range"]["start"] == {"line": 13, "column": 20}
    [issue] = json.loads(of("gitlab"))
    assert issue["location"]["lines"] == {"begin": 14, "end": 14}
    case = ElementTree.fromstring(of("junit")).find(".//testcase")
    assert case is not None
    assert case.get("line") == "14"
    [result] = json.loads(of("sarif"))["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"]) == (14, 11)
    assert "primaryLocationLineHash" in result["partialFingerprints"]


def test_what_is_known_of_a_line(page: Project) -> None:
    out = page.run("why", MD, "a.md:14").out
    assert out.startswith("a.md:14\n    z = x + y\n")
    assert "line 5  made on cuda here" in out
    assert "DEV202 operands-on-other-devices: `y` is on cpu but `x` is on cuda (shown)" in out
    assert "x: tensor on cuda" in page.run("why", MD, "a.md:14:7").out
    assert "\n  y: tensor" not in page.run("why", MD, "a.md:14:7").out
    for row in (1, 3, 99):
        ran = page.run("why", MD, f"a.md:{row}")
        assert (ran.code, ran.err) == (
            2,
            f"devlint: a.md:{min(row, 17)}: there is no Python in this line\n",
        )


def test_standard_input_is_markdown_by_its_name(
    page: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*args: str) -> str:
        stream = SimpleNamespace(buffer=io.BytesIO(PAGE.encode()))
        monkeypatch.setattr("sys.stdin", stream)
        return page.run("-", "--stdin-filename=b.md", MD, ONLY, "--quiet", *args).out

    assert run("--output-format=concise").startswith("b.md:14:11: DEV202")
    assert "13 |   y = torch.zeros(3)" in run()
    assert run("--fix", "--unsafe-fixes") == PAGE.replace("zeros(3)", "zeros(3, device=x.device)")


# --- what is written


def test_a_fix_is_written_into_its_block(page: Project) -> None:
    assert page.concise(ONLY, MD, "--fix", "--unsafe-fixes", "a.md").code == 0
    assert page.read("a.md") == PAGE.replace("zeros(3)", "zeros(3, device=x.device)")


@pytest.mark.skipif(shutil.which("git") is None, reason="git isn't there")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_diff_is_one_that_git_applies(page: Project, newline: str) -> None:
    before = PAGE.replace("\n", newline)
    page.write({"a.md": before})
    diff = page.spawn("--no-cache", "--quiet", ONLY, MD, "--diff", "--unsafe-fixes", "a.md").out
    subprocess.run(["git", "apply"], cwd=page.folder, input=diff.encode(), check=True)
    assert page.read("a.md") == before.replace("zeros(3)", "zeros(3, device=x.device)")


def test_comments_are_written_into_blocks(page: Project) -> None:
    long = "> ```python\n> import torch\n> x = torch.ones(3, device='''cuda\n> ''')\n> ```\n"
    page.write({"b.md": long})
    ran = page.run("--no-cache", "--quiet", "--select=DEV202,DEV304", MD, "--add-ignore=later", ".")
    assert (ran.code, ran.err) == (0, "")
    comment = "# devlint: ignore[DEV202] -- later"
    assert page.read("a.md") == PAGE.replace("x + y", f"x + y  {comment}")
    assert page.read("b.md") == long.replace("''')", "''')  # devlint: ignore[DEV304] -- later")
    assert page.concise(ONLY, MD, ".").out == ""


# --- from run to run


def test_a_cache_knows_what_a_file_was_read_as(page: Project) -> None:
    args = ("--output-format=json", ONLY, f"--cache-dir={page.folder / 'cache'}", "a.md")
    first = page.run(MD, *args)
    again = page.run(MD, "--verbose", *args)
    assert json.loads(first.out) == json.loads(again.out) != []
    assert "1 of them from the cache" in again.err
    assert "0 of them from the cache" in page.run("--extension=md:python", "-v", *args).err


def test_a_baseline_outlives_moved_lines(page: Project) -> None:
    assert page.concise(ONLY, MD, "--baseline=b.json", "a.md").code == 0
    page.write({"a.md": f"New\n\n{PAGE}"})
    assert page.concise(ONLY, MD, "--baseline=b.json", "a.md").out == ""
    page.write({"a.md": f"{PAGE}\n\n```python\nt = x + torch.zeros(3)\n```\n"})
    assert page.concise(ONLY, MD, "--baseline=b.json", "a.md").out.startswith("a.md:20:9: DEV202")


@pytest.mark.skipif(shutil.which("git") is None, reason="git isn't there")
def test_what_an_older_revision_has_is_left_out(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(project.folder / "repo")
    monkeypatch.chdir(repository.folder)
    repository.commit({"a.md": PAGE})
    more = f"# New\n{PAGE.partition(chr(10))[2]}\n\n```python\nt = x + torch.zeros(3)\n```\n"
    for name in ("a.md", "b.md"):  # changed, and renamed
        (repository.folder / "a.md").rename(repository.folder / name)
        (repository.folder / name).write_text(more)
        ran = project.concise(ONLY, MD, "--since=HEAD", ".")
        assert ran.out.startswith(f"{name}:20:9: DEV202")
        assert ran.out.count("DEV202") == 1


def test_the_pages_name_the_hook_that_takes_markdown() -> None:
    text = (Path(__file__).parents[2] / "docs" / "notebooks.md").read_text(encoding="utf-8")
    assert 'args: [--extension, "md:markdown"]' in text
    assert "types_or: [python, pyi, jupyter, markdown]" in text
