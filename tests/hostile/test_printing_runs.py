"""Real files with odd names, odd words on the command line and in settings, end to end."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from driver.conftest import Project
from hostile.evil import as_name, evil_strings, harmless, readable

from devlint.cli.explain import settings_as_text
from devlint.config.settings import Settings
from devlint.model.findings import OUTPUT_FORMATS
from devlint.safety.escaping import line

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NAMES = [
    as_name(part)
    for part in (
        "a\nb.py:1:1: DEV101 forged", "::error::x", "##[error]x", "\x1b[31mred", "\r", "\t",
        "\u202e", "\u2028", "\udcff", "]]>", "\\", '"', "a b", "[text](1)", "```", "é日本",
    )
]  # fmt: skip

SOURCE = """\
import torch

d = torch.device("gpu")
'''
 ::error::\x1b[31m##[error]x]]>\u202e
'''
x = 1  # devlint: ignore[DEV101]
"""
"""Two findings, of which one has a fix beside a line that is a command."""

FIXED = SOURCE.replace("  # devlint: ignore[DEV101]", "")


def write(project: Project) -> None:
    project.write(dict.fromkeys(NAMES, SOURCE))


# --- files ---------------------------------------------------------------------------------


def test_every_format_of_files_with_odd_names(project: Project) -> None:
    write(project)
    places = 2 * len(NAMES)
    for output_format in OUTPUT_FORMATS:
        ran = project.run("--output-format", output_format)
        assert (ran.code, ran.err) == (1, "")
        ran.out.encode()
        if output_format == "github":
            assert ran.out.count("\n") == places
            assert all(re.match("::(error|warning) file=", row) for row in ran.out.splitlines())
            continue
        if output_format == "azure":
            assert ran.out.count("\n") == places
            assert all(row.startswith("##vso[task.logissue ") for row in ran.out.splitlines())
            continue
        assert harmless(ran.out)
        if output_format == "junit":
            assert len(list(ElementTree.fromstring(ran.out).iter("failure"))) == places
        elif output_format == "json-lines":
            assert len([json.loads(row) for row in ran.out.splitlines()]) == places
        elif output_format == "sarif":
            assert len(json.loads(ran.out)["runs"][0]["results"]) == places
        elif output_format in ("json", "gitlab"):
            assert len(json.loads(ran.out)) == places
        elif output_format == "rdjson":
            assert len(json.loads(ran.out)["diagnostics"]) == places
        elif output_format == "pylint":
            assert ran.out.count("\n") == places
        elif output_format == "concise":
            assert ran.out.count("\n") == places + 1


def test_show_files_prints_a_line_a_file(project: Project) -> None:
    write(project)
    ran = project.run("--show-files")
    assert sorted(ran.out.splitlines()) == sorted(map(line, NAMES))
    assert harmless(ran.out)


def test_statistics_settings_and_notes(project: Project) -> None:
    write(project)
    (project.folder / as_name("\x1b\n::warning::x")).symlink_to(project.folder)
    for options in (["--statistics"], ["--show-settings", NAMES[0]], ["--verbose", "-n"]):
        ran = project.run(*options)
        assert harmless(ran.out)
        assert harmless(ran.err)


def test_files_that_cannot_be_read(project: Project) -> None:
    for name in NAMES:
        (project.folder / name).symlink_to("nowhere")
    ran = project.run("--quiet")
    assert ran.code == 2
    assert harmless(ran.err)
    wanted = [line(f"devlint: {name}: No such file or directory") for name in NAMES]
    assert sorted(ran.err.splitlines()) == sorted(wanted)


def test_fixes_suppressions_and_baselines(project: Project) -> None:
    write(project)
    told = project.run("--baseline", "base\n::error::.json")
    assert told.err == (
        f"Wrote a baseline of {2 * len(NAMES)} findings to base\\n::error::.json.\n"
    )
    listed = json.loads((project.folder / "base\n::error::.json").read_bytes().decode("utf-8"))
    assert {entry["path"] for entry in listed["findings"]} == set(map(readable, NAMES))
    assert project.run("--baseline", "base\n::error::.json").code == 0
    fixed = project.run("--fix")
    assert harmless(fixed.out)
    assert [project.read(name) for name in NAMES] == [FIXED] * len(NAMES)
    assert project.run("--add-ignore").err == f"Suppressed {len(NAMES)} findings.\n"
    assert project.run().code == 0


def test_a_patch_applies_to_files_with_odd_names(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    write(project)
    latin = b"# coding: latin-1\nx = 1  # devlint: ignore[DEV101]\ny = '\xe9\x85'\r\n"
    project.write({"latin.py": latin})
    done = subprocess.run(
        project.command("--diff", "--no-cache"), cwd=project.folder, capture_output=True
    )
    assert done.stderr.decode() == f"Would fix {len(NAMES) + 1} findings.\n"
    heads = [row for row in done.stdout.split(b"\n") if row.startswith(b"+++ ")]
    assert all(head.decode().rstrip("\t").isprintable() for head in heads)
    expected = dict.fromkeys(NAMES, FIXED.encode())
    expected["latin.py"] = latin.replace(b"  # devlint: ignore[DEV101]", b"")
    for command in (["git", "apply", "-p0"], ["patch", "-p0", "--binary"]):
        if shutil.which(command[0]) is None:
            continue
        copy = shutil.copytree(project.folder, tmp_path_factory.mktemp("copy") / "x")
        subprocess.run(command, input=done.stdout, cwd=copy, check=True, capture_output=True)
        assert {path.name: path.read_bytes() for path in copy.iterdir()} == expected


def test_a_terminal_is_shown_a_harmless_diff(project: Project) -> None:
    project.write({NAMES[0]: SOURCE + "\tz = 1\n"})
    project.write({NAMES[0]: SOURCE})
    leader, follower = pty.openpty()
    with os.fdopen(leader, "rb", buffering=0) as screen:
        subprocess.run(
            project.command("--diff", "--no-cache", "--quiet"), cwd=project.folder, stdout=follower
        )
        os.close(follower)
        shown = screen.read(8192).decode().replace("\r\n", "\n")
    text = re.sub(r"\x1b\[[\d;]*m", "", shown)  # devlint's own colours
    assert "\n-x = 1  # devlint: ignore[DEV101]\n+x = 1\n" in text
    assert r"\x3a:error::\x1b[31m\x23#[error]x]]>\u202e" in text
    assert harmless(text)


def test_standard_input_has_any_name(project: Project) -> None:
    name = "a\n::error::\x1b.py"
    ran = project.spawn("-", "--stdin-filename", name, "--fix", stdin=SOURCE.encode())
    assert ran.out == FIXED
    assert harmless(ran.err)
    assert r"a\n::error::\x1b.py:3:18" in ran.err


@pytest.mark.parametrize("evil", ["a\n::error::x", "\x1b[31m", "\u202e", "##[error]x"])
def test_a_bug_is_told_on_harmless_lines(
    project: Project, monkeypatch: pytest.MonkeyPatch, evil: str
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(evil)

    write(project)
    monkeypatch.setattr("devlint.lint.check", fail)
    ran = project.run("--verbose", "-n")
    assert ran.code == 2
    assert "Traceback" in ran.err
    assert harmless(ran.err)
    assert harmless(ran.out)


# --- the command line and settings ---------------------------------------------------------


OPTIONS = (
    "--{}", "--select={}", "--ignore=DEV1,{}", "--config={}", "--config=select={}",
    "--output-format={}", "--jobs={}", "--per-file-ignores={}", "--stdin-filename={}\0--fix\0x.py",
    "--add-ignore=#{}", "rule\0{}", "config\0{}", "help\0{}", "gone/{}.txt",
)  # fmt: skip


@evil_strings
def test_what_is_said_of_the_command_line_is_one_line(project: Project, evil: str) -> None:
    project.write({"a.py": "x = 1\n"})
    word = evil.replace("\0", "")  # an argument can't hold one
    for option in OPTIONS:
        ran = project.run(*option.format(word).split("\0"))
        assert ran.code in (0, 2), option  # some of the strings are blank: nothing was asked for
        assert harmless(ran.err), option
        assert harmless(ran.out), option
        assert ran.err.count("\n") == (ran.code == 2), option


@evil_strings
def test_what_is_said_of_settings_is_one_line(project: Project, evil: str) -> None:
    text = _toml(evil)
    for content in (
        f"{text} = 1",
        f"select = {text}",
        f"output-format = {text}",
        f"extend-select = [{text}]",
        f"extend = {text}",
        f"cache-dir = [{text}]",
        f"[per-file-ignores]\n{text} = {text}",
        f"[torchapi]\n{text} = {{ effect = {text} }}",
        f"exclude = [\n{readable(evil)}",
    ):
        project.write({"devlint.toml": content, "a.py": "x = 1\n"})
        ran = project.run("--no-cache")
        assert (ran.code, ran.err.count("\n")) in ((2, 1), (0, 0)), content
        assert harmless(ran.err), content


def _toml(text: str) -> str:
    """A string of TOML in which every character is an escape."""
    return f'"{"".join(f"{chr(92)}U{ord(c):08X}" for c in readable(text))}"'


@evil_strings
def test_settings_are_shown_as_toml(evil: str) -> None:
    settings = Settings(
        exclude=(evil,),
        per_file_ignores=((evil, ("DEV1",)),),
        cache_dir=evil,
        root=evil,
        torchapi=json.dumps({evil: {"effect": evil}}),
    )
    text = settings_as_text(settings, evil)
    assert harmless(text)
    values = tomllib.loads(text)
    assert values["exclude"] == [readable(evil)]
    assert values["per-file-ignores"] == {readable(evil): ["DEV1"]}
    assert values["cache-dir"] == readable(evil)
    assert values["torchapi"] == {readable(evil): {"effect": readable(evil)}}


def test_the_cache_that_is_removed_may_have_any_name(project: Project) -> None:
    folder = Path("cache\n::error::\x1b")
    project.write({"a.py": "import torch\n"})
    project.run("--cache-dir", str(folder))
    for _ in range(2):
        ran = project.run("clean", "--cache-dir", str(folder))
        assert (ran.code, ran.out.count("\n")) == (0, 1)
        assert harmless(ran.out)
