"""The command line: commands, options, exit codes, output."""

from __future__ import annotations

import ast
import errno
import io
import json
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project

import devlint
from devlint.cli import main
from devlint.cli.arguments import COMMANDS, PARSERS
from devlint.cli.prose import plain
from devlint.config.rulebook import pages
from devlint.report.versions import FORMAT_VERSIONS

LOAD = 'import torch\n\nw = torch.load("w.pt")\n'
"""DEV106, which an unsafe fix goes with."""

UNUSED = "x = 1  # devlint: ignore[DEV101]\n"
"""DEV002, which a safe fix goes with."""


def test_exit_codes(project: Project) -> None:
    project.write({"clean.py": CLEAN, "bad.py": BAD_DEVICE, "broken.py": "def f(:\n"})
    assert project.run("clean.py").code == 0
    assert project.run("bad.py").code == 1
    assert project.run("broken.py").code == 2
    assert project.run("bad.py", "broken.py").code == 2
    for option in ("--exit-zero", "-e"):
        assert project.run(option, "bad.py").code == 0
        assert project.run(option, "broken.py").code == 2
        assert project.run(option, "missing.py").code == 2
    assert project.run("--exit-zero", "--no-exit-zero", "bad.py").code == 1


def test_check_is_the_default_command(project: Project) -> None:
    project.write({"bad.py": BAD_DEVICE})
    assert project.run("check", "bad.py") == project.run("bad.py") == project.run()


@pytest.mark.parametrize("words", [["--version"], ["-V"], ["version"], ["check", "-V"]])
def test_version(project: Project, words: list[str]) -> None:
    assert project.run(*words).out == f"devlint {devlint.__version__}\n"


def test_versions_of_formats(project: Project) -> None:
    own, *formats = project.run("version", "--formats").out.splitlines()
    assert own == f"devlint {devlint.__version__}"
    assert dict(line.split() for line in formats) == dict(FORMAT_VERSIONS)


MISTAKES = {
    ("--selct", "ALL"): 'unknown option `--selct`; did you mean "--select"?',
    ("--no-chache",): 'unknown option `--no-chache`; did you mean "--no-cache"?',
    ("--outputformat=json",): 'unknown option `--outputformat`; did you mean "--output-format"?',
    ("--select",): "argument --select: expected one argument",
    ("--jobs", "0"): "argument -j/--jobs: `0` is not a number of processes above zero",
    ("--jobs", "many"): "argument -j/--jobs: `many` is not a number of processes above zero",
    ("--output-format", "jsn"): "--output-format must be one of full, concise, grouped, json, ",
    ("--color=allways",): (
        '--color must be one of auto, always, never, not `allways`; did you mean "always"?'
    ),
    ("help", "chekc"): "COMMAND must be one of check, run, migrate, ",
    ("--per-file-ignores", "a.py"): (
        "argument --per-file-ignores: `a.py` is not of the form PATTERN:CODE"
    ),
    ("--sel", "ALL"): 'unknown option `--sel`; did you mean "--select"?',
    ("chek",): 'chek: No such file or directory; did you mean the command "check"?',
    ("clena", "."): 'clena: No such file or directory; did you mean the command "clean"?',
    ("rule",): "name one rule by code or name, or use --all",
    ("rule", "DEV2O2"): 'there is no rule `DEV2O2`; did you mean "DEV202"?',
    ("rule", "discarded-mov"): 'there is no rule `discarded-mov`; did you mean "discarded-move"?',
    ("--select", "DEV9"): (
        "the command line: unknown rule selector `DEV9`; `devlint rule --all` lists the rules"
    ),
    ("--select", "E501"): (
        "the command line: unknown rule selector `E501`; `devlint rule --all` lists the rules"
    ),
    ("--preview",): "unknown option `--preview`",
    ("-n", "rule"): "rule: No such file or directory; the command comes first: `devlint rule ...`",
    ("--config", "select=DEV1"): (
        "--config select=DEV1: no TOML, as `select=['DEV2']` is: Invalid value (at line 1"
    ),
    ("--add-ignore", "--fix"): "--add-ignore and --fix don't go together: give one of them",
    ("--stdin-filename", "b.py", "a.py"): (
        "--stdin-filename stands for standard input and can't be mixed with paths"
    ),
    ("--exclude", "!"): "the command line: `exclude`: `!` is no pattern",
    ("--exit-zero", "--fail-on=error"): (
        "--exit-zero and --fail-on don't go together: give one of them"
    ),
    ("--fail-on=eror",): (
        '--fail-on must be one of error, warning, never, not `eror`; did you mean "error"?'
    ),
    ("--add-ignore", "--ignore-noqa"): (
        "--add-ignore and --ignore-noqa don't go together: give one of them"
    ),
    ("--silent", "--quiet"): "--silent and --quiet don't go together: give one of them",
    ("-s", "-v"): "--silent and --verbose don't go together: give one of them",
    ("--select=",): "argument --select: it names nothing, so nothing would be checked",
    ("--select", " , "): "argument --select: it names nothing, so nothing would be checked",
    ("--select=DEV1", "--select="): "argument --select: it names nothing, so nothing would be",
    ("--include=",): "argument --include: it names nothing, so nothing would be checked",
    ("--update-baseline",): "--update-baseline needs --baseline, which names the file",
    ("--update-baseline", "-"): "--update-baseline needs --baseline, which names the file",
    ("--update-baseline", "--baseline=b", "--since=HEAD"): (
        "--update-baseline and --since don't go together: give one of them"
    ),
    ("--update-baseline", "--baseline=b", "--diff"): (
        "--update-baseline and --diff don't go together: give one of them"
    ),
    ("--add-ignore=a # b",): "the reason of --add-ignore can't contain `#`, which ends it",
    ("-", "a.py"): "`-` stands for standard input and can't be mixed with paths",
    ("--baseline", "no/such/folder"): "no/such/folder: No such file or directory",
    ("-o", "no/such/folder"): "no/such/folder: can't be written: No such file or directory",
}


@pytest.mark.parametrize(("words", "message"), MISTAKES.items(), ids=map(" ".join, MISTAKES))
def test_a_mistake_is_one_plain_line(
    project: Project, words: tuple[str, ...], message: str
) -> None:
    project.write({"a.py": CLEAN})
    ran = project.run(*words)
    assert ran.err.startswith(f"devlint: {message}")
    assert ran.err.count("\n") == 1
    assert ran.code == 2


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--output-format", "jsn"], 'not `jsn`; did you mean "json"?'),
        (["--config", "output-format='github '"], "not `'github '`; did you mean \"github\"?"),
        (["--output-format", "xml"], "not `xml`"),
        (["rule", "--all", "--output-format", "markdwon"], 'did you mean "markdown"?'),
        (["help", "chekc"], 'did you mean "check"?'),
    ],
    ids=lambda item: " ".join(item) if isinstance(item, list) else "",
)
def test_a_mistyped_word_gets_the_nearest(project: Project, words: list[str], hint: str) -> None:
    ran = project.run(*words)
    assert ran.err.endswith(f"{hint}\n")
    assert (ran.code, ran.out) == (2, "")


def test_a_mistyped_rule_is_an_error_where_nothing_is_linted(project: Project) -> None:
    ran = project.run("--select", "DEV9")
    assert ran.err.startswith("devlint: the command line: unknown rule selector `DEV9`")
    assert ran.code == 2


def test_options_and_paths_in_any_order(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "b.py": BAD_DEVICE})
    ran = project.run("a.py", "--output-format", "concise", "b.py", "-q", "-n")
    assert ran.out.count("DEV304") == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_help(project: Project, command: str) -> None:
    ran = project.run("help", command)
    assert ran.code == 0
    assert ran.out.startswith("usage: devlint")
    assert project.spawn(command, "--help").out.split() == ran.out.split()


def test_every_flag_has_its_twin() -> None:
    for action in PARSERS["check"]()._actions:
        if action.nargs == 0 and action.dest not in ("help", "version", "cache"):
            names = [name for name in action.option_strings if name.startswith("--")]
            assert len(names) == 2
            assert names[1] == "--no-" + names[0].removeprefix("--")


def test_every_option_has_a_help_text() -> None:
    for make in PARSERS.values():
        for action in make()._actions:
            if action.option_strings:
                assert len(action.help or "") > 5, action.option_strings


def test_rule_explains(project: Project) -> None:
    page = next(iter(pages().values()))
    by_code, by_name = project.run("rule", page.code.lower()), project.run("rule", page.name)
    assert by_code == by_name
    assert page.summary in by_code.out
    assert "What it finds" in by_code.out
    assert project.run("rule", page.code, "--output-format=markdown").out.startswith("# ")
    record = json.loads(project.run("rule", page.code, "--output-format=json").out)
    assert (record["code"], record["name"]) == (page.code, page.name)


def test_rule_reads_well_in_a_terminal(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = project.run("rule", "DEV202").out
    assert not any(mark in out for mark in ("```", "](", "## "))
    prose = [line for line in out.splitlines() if not line.startswith("    ") and " " in line]
    assert max(map(len, prose)) <= 60
    assert "\nReported:\n\n    import torch\n" in out
    assert "- DEV203 (tensor-on-default-device) speaks" in out


def test_a_rule_that_needs_pedantic_says_so() -> None:
    out = plain("## Example\n\n```python error pedantic\nx.cuda()\n```\n", 60)
    assert "Reported with --pedantic:\n\n    x.cuda()\n" in out


def test_rule_lists_all(project: Project) -> None:
    for output_format in ("text", "markdown", "json"):
        out = project.run("rule", "--all", "--output-format", output_format).out
        assert all(page.code in out and page.name in out for page in pages().values())


def test_output_file(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    expected = project.run("--output-format=json")
    ran = project.run("--output-format=json", "-o", "out.json")
    assert (ran.out, ran.code) == ("", 1)
    assert project.read("out.json") == expected.out


def test_a_run_that_fails_keeps_the_old_report(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"a.py": BAD_DEVICE, "out.json": "old"})
    (project.folder / "out.json").chmod(0o640)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        ran = project.run("-n", "--output-format=json", "-o", "out.json")
    assert (ran.code, project.read("out.json")) == (2, "old")
    assert "out.json: can't be written: No space left" in ran.err
    assert sorted(path.name for path in project.folder.iterdir()) == ["a.py", "out.json"]
    assert project.run("-n", "--output-format=json", "-o", "out.json").code == 1
    assert json.loads(project.read("out.json"))
    assert stat.S_IMODE((project.folder / "out.json").stat().st_mode) == 0o640


def test_quiet_and_verbose(project: Project) -> None:
    project.write({"a.py": CLEAN})
    ran = project.run("-q")
    assert (ran.out, ran.err) == ("", "")
    assert "1 files, 1 of them from the cache" in project.run("-v").err
    assert project.run("-q", "missing.py").err != ""
    project.write({"a.py": BAD_DEVICE})
    assert "Found" in project.run("--output-format=concise").out
    assert project.run("-q", "--output-format=concise").out.splitlines()[1:] == []


def test_output_that_can_not_be_written(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    project.write({"a.py": BAD_DEVICE})
    monkeypatch.setattr(sys, "stdout", Full())
    assert main([]) == 2
    assert "devlint: the output: can't be written: No space left" in capsys.readouterr().err


def test_statistics(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE + 'e = torch.device("gpu")\n', "b.py": LOAD})
    lines = project.run("--statistics").out.splitlines()
    assert [line.split()[:2] for line in lines] == [["2", "DEV304"], ["1", "DEV106"]]
    counted = json.loads(project.run("--statistics", "--output-format=json").out)
    assert [row["count"] for row in counted] == [2, 1]


COLORS = {
    "pipe": ({}, [], False),
    "forced by the environment": ({"FORCE_COLOR": "1"}, [], True),
    "refused by the environment": ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
    "always": ({"NO_COLOR": "1"}, ["--color", "always"], True),
    "never": ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
}


@pytest.mark.parametrize(("env", "options", "colored"), COLORS.values(), ids=COLORS)
def test_color(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    env: dict[str, str],
    options: list[str],
    colored: bool,
) -> None:
    project.write({"a.py": BAD_DEVICE})
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in project.run(*options).out) == colored


def terminal(project: Project, *args: str, **env: str) -> tuple[int, str]:
    """Run devlint with a terminal for stdout and stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "devlint", *args],
        cwd=project.folder,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", **env},
    )
    os.close(theirs)
    printed = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # what Linux says of a terminal that nobody holds any more
            break
        if not piece:
            break
        printed += piece
    os.close(ours)
    return process.wait(60), printed.decode(errors="replace")


def test_a_terminal_gets_color_unless_refused(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    assert "\x1b[" in terminal(project, "-n")[1]
    assert "\x1b[" not in terminal(project, "-n", NO_COLOR="1")[1]
    assert "\x1b[" not in terminal(project, "-n", TERM="dumb")[1]


NEVER = {
    "no colour": {"WT_SESSION": "x", "NO_COLOR": "1"},
    "refused": {"VTE_VERSION": "7600", "FORCE_HYPERLINK": "0"},
    "old": {"VTE_VERSION": "5000", "KONSOLE_VERSION": "190000"},
    "none that is known": {"TERM_PROGRAM": "Apple_Terminal"},
    "between": {"VTE_VERSION": "7600", "TERM": "tmux-256color"},
    "no number": {"VTE_VERSION": "new"},
}
ALWAYS = {
    "forced": {"FORCE_HYPERLINK": "1"},
    "by its program": {"TERM_PROGRAM": "iTerm.app"},
    "by its kind": {"TERM": "xterm-kitty"},
    "by its release": {"VTE_VERSION": "7600"},
    "by a name of its own": {"WT_SESSION": "x"},
}
KNOWN = (
    "FORCE_HYPERLINK",
    "TERM_PROGRAM",
    "VTE_VERSION",
    "KONSOLE_VERSION",
    "WT_SESSION",
    "DOMTERM",
)


@pytest.mark.parametrize(
    ("env", "linked"),
    [*((env, False) for env in NEVER.values()), *((env, True) for env in ALWAYS.values())],
    ids=[*NEVER, *ALWAYS],
)
def test_codes_are_links_on_a_terminal_that_says_that_it_knows_them(
    project: Project, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], linked: bool
) -> None:
    for name in KNOWN:
        monkeypatch.delenv(name, raising=False)
    project.write({"a.py": BAD_DEVICE})
    printed = terminal(project, "-n", **env)[1]
    url = pages()["invalid-device"].url
    assert (f"\x1b]8;;{url}\x1b\\" in printed) is linked
    assert ("\x1b]8;;\x1b\\" in printed) is linked


def test_there_are_no_links_in_pipes_and_files(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"a.py": BAD_DEVICE})
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    ran = project.run("-n", "--color=always")
    assert "\x1b[" in ran.out
    assert "\x1b]8" not in ran.out
    terminal(project, "-n", "--color=always", "-o", "out.txt")
    assert "\x1b[" in project.read("out.txt")
    assert "\x1b]8" not in project.read("out.txt")


def test_a_progress_bar_on_a_terminal_in_a_long_run(project: Project) -> None:
    body = "".join(f"def f{i}(x):\n    return x.to('cuda') + {i}\n" for i in range(700))
    project.write({f"m{i}.py": f"import torch\n{body}" for i in range(40)})
    shown = terminal(project, "-n", "-j1", "--select", "DEV304")[1]
    assert "Linting" in shown
    assert "Linting" not in terminal(project, "-n", "-q", "m1.py", "--select", "DEV304")[1]


def test_output_that_the_terminal_can_not_show(project: Project) -> None:
    project.write({"a.py": 'import torch\n\nd = torch.device("gpu")  # \N{SNOWMAN}\n'})
    ran = project.spawn("-n", ".", PYTHONIOENCODING="ascii")
    assert ran.code == 1
    assert "\\u2603" in ran.out


# --- fixes ---------------------------------------------------------------------------------


def test_fix_applies_safe_fixes_only(project: Project) -> None:
    project.write({"a.py": UNUSED, "b.py": LOAD})
    ran = project.concise("--fix")
    assert project.read("a.py") == "x = 1\n"
    assert project.read("b.py") == LOAD
    assert ran.out.startswith("b.py:3:5: DEV106")
    assert ran.code == 1
    again = project.concise("--fix")
    assert again.out.replace("Fixed 1 finding. ", "") == again.out


def test_unsafe_fixes(project: Project) -> None:
    project.write({"b.py": LOAD})
    assert project.concise("--fix", "--unsafe-fixes").code == 0
    assert 'map_location="cpu"' in project.read("b.py")
    assert project.concise("--fix", "--unsafe-fixes").code == 0


def test_diff_writes_nothing(project: Project) -> None:
    project.write({"a.py": UNUSED})
    ran = project.run("--diff")
    assert ran.out.splitlines()[-2:] == ["-x = 1  # devlint: ignore[DEV101]", "+x = 1"]
    assert ran.err == "Would fix 1 finding.\n"
    assert ran.code == 1
    assert project.read("a.py") == UNUSED
    patch = subprocess.run(["patch", "-p0"], input=ran.out, cwd=project.folder, text=True)
    assert patch.returncode == 0
    assert project.read("a.py") == "x = 1\n"
    assert project.run("--diff").code == 0


def test_fix_only_and_the_exit_code(project: Project) -> None:
    project.write({"a.py": UNUSED, "b.py": LOAD})
    ran = project.run("--fix-only")
    assert (ran.code, ran.out, ran.err) == (0, "", "Fixed 1 finding.\n")
    project.write({"a.py": UNUSED})
    assert project.run("--fix-only", "--exit-non-zero-on-fix").code == 1
    assert project.run("--fix", "--exit-non-zero-on-fix", "a.py").code == 0


def test_a_file_that_can_not_be_parsed_is_told_with_every_kind_of_fix(project: Project) -> None:
    project.write({"a.py": UNUSED, "broken.py": "def f(:\n"})
    for option in ("--diff", "--fix-only"):
        ran = project.run(option)
        assert "broken.py:1:7: DEV001" in ran.err
        assert ran.code == 2
    assert project.read("a.py") == "x = 1\n"


def test_fixing_a_read_only_file_is_a_failure(project: Project) -> None:
    project.write({"a.py": UNUSED, "b.py": UNUSED})
    (project.folder / "a.py").chmod(0o444)
    ran = project.spawn("-n", "--fix", ".", unprivileged=True)
    assert ran.err.startswith("devlint: a.py: can't be fixed: it is read-only")
    assert ran.code == 2
    assert project.read("b.py") == "x = 1\n"


# --- standard input ------------------------------------------------------------------------


def test_stdin(project: Project) -> None:
    ran = project.spawn("--output-format=concise", "-", stdin=BAD_DEVICE.encode())
    assert ran.out.startswith("-:3:18: DEV304")
    assert ran.code == 1
    full = project.spawn("-", "--stdin-filename", "sub/a.py", stdin=BAD_DEVICE.encode())
    assert project.spawn("--stdin-filename", "sub/a.py", stdin=BAD_DEVICE.encode()) == full
    assert "--> sub/a.py:3:18" in full.out
    assert 'd = torch.device("gpu")' in full.out


def test_stdin_takes_the_settings_of_its_filename(project: Project) -> None:
    project.write({"sub/devlint.toml": 'ignore = ["DEV304"]\nextend-exclude = ["gen"]\n'})
    data = BAD_DEVICE.encode()
    assert project.spawn("-", "--stdin-filename", "sub/a.py", stdin=data).code == 0
    assert project.spawn("-", "--stdin-filename", "a.py", stdin=data).code == 1
    forced = ("-", "--force-exclude", "--select=ALL", "--stdin-filename")
    assert project.spawn(*forced, "sub/gen/a.py", stdin=data).code == 0
    assert project.spawn(*forced, "sub/a.py", stdin=data).code == 1


def test_fixing_stdin_prints_the_fixed_text(project: Project) -> None:
    data = (UNUSED + LOAD).replace("\n", "\r\n").encode()
    ran = project.spawn("-", "--fix", stdin=data)
    assert ran.out == ("x = 1\n" + LOAD).replace("\n", "\r\n")
    assert "DEV106" in ran.err
    assert ran.code == 1
    assert project.spawn("-", "--diff", stdin=data).out.startswith("--- -\n")
    broken = project.spawn("-", "--fix", stdin=b"def f(:\n")
    assert (broken.out, broken.code) == ("def f(:\n", 2)


# --- as functions --------------------------------------------------------------------------


def test_the_functions(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "sub/b.py": LOAD})
    assert [item.code for item in devlint.check(".")] == ["DEV304", "DEV106"]
    assert [item.filename for item in devlint.check([Path("sub"), "a.py"])] == ["a.py", "sub/b.py"]
    assert devlint.check(".", {"ignore": ["ALL"]}) == []
    (finding,) = devlint.check_text(BAD_DEVICE, "x.py")
    assert isinstance(finding, devlint.Finding)
    assert (finding.filename, finding.span.row, finding.statement) == ("x.py", 3, (3, 3))
    with pytest.raises(devlint.CheckError, match=r"missing\.py: No such file"):
        devlint.check("missing.py")
    with pytest.raises(AttributeError, match="has no attribute 'chek'"):
        devlint.chek  # noqa: B018


def test_importing_devlint_imports_nothing_else() -> None:
    code = "import devlint, sys; print({m for m in sys.modules if 'devlint' in m or 'libcst' in m})"
    out = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert ast.literal_eval(out) - {"devlint._version"} == {"devlint"}  # a build makes that


def test_the_version_comes_at_once(project: Project) -> None:
    """What takes its time is imports: it needs none but those that any package needs to run."""
    project.write(
        {"empty/__init__.py": "", "empty/__main__.py": "import __future__, collections.abc"}
    )

    def imported(*words: str) -> set[str]:
        command = [sys.executable, "-X", "importtime", "-m", *words]
        err = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        return {line.rpartition("|")[2].strip() for line in err.splitlines()}

    needed = imported("devlint", "--version") - imported("empty")
    assert needed - {*sys.builtin_module_names} == {
        "devlint",
        "devlint._version",
        "devlint.cli",
    }
