"""`--since` runs git, and nothing that the repository names, and writes nothing elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project
from hostile.test_clones import COMMANDS, HOOKS
from repository import Repository

from devlint.history import checkout, git

COMPARE = """
import json, subprocess, sys

started = []
STARTS = "subprocess. os.exec os.fork os.posix_spawn os.spawn os.startfile os.system pty."

def hook(event, arguments):
    if event.startswith(tuple(STARTS.split())):
        started.append([str(arguments[0]), str(arguments[1])])

sys.addaudithook(hook)
from devlint.cli import main

code = main(["--since", "HEAD~1", "--jobs=1", "--quiet", "--no-cache", "."])
print(json.dumps([code, started]), file=sys.stderr)
"""
"""Says how it ended, and the programs that were started with their words."""

READ_ONLY = {"rev-parse", "merge-base", "ls-tree", "cat-file"}


class Hostile:
    """A repository each of whose settings, hooks and attributes writes a marker where git heeds it,
    with two commits."""

    def __init__(self, folder: Path) -> None:
        self.marker = folder / "ran"
        self.made = Repository(folder / "repo")
        self.folder = self.made.folder
        attributes = "* filter=x diff=x merge=x text\n"
        self.made.commit({".gitattributes": attributes, "a.py": BAD_DEVICE, "b.py": CLEAN})
        self.made.commit({"b.py": BAD_DEVICE})
        command = f"echo ran >> {self.marker};"
        hooks = self.folder / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for hook in (*HOOKS, "pre-commit", "post-merge", "post-rewrite", "pre-rebase"):
            (hooks / hook).write_text(f"#!/bin/sh\n{command}\n")
            (hooks / hook).chmod(0o755)
        included = self.folder / ".git" / "included"
        aliases = {f"alias.{name}": f"!{command}" for name in (*READ_ONLY, "status")}
        settings = {
            **dict.fromkeys(COMMANDS, command),
            **aliases,
            "core.hooksPath": str(hooks),
            "filter.x.required": "true",
            "log.showSignature": "true",
            "pager.merge-base": command,
            "trace2.eventTarget": str(self.marker),
            "trace2.normalTarget": str(self.marker),
        }
        for name, value in settings.items():
            for file in (self.folder / ".git" / "config", included):
                plain = ["git", "config", "--file", str(file), name, value]
                subprocess.run(plain, check=True)
        plain = ["git", "config", "--file", str(self.folder / ".git/config")]
        subprocess.run([*plain, "include.path", str(included)], check=True)
        subprocess.run([*plain, "includeIf.gitdir:/.path", str(included)], check=True)


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


def test_the_repository_is_hostile(hostile: Hostile) -> None:
    """Git as it is runs what the settings name."""
    subprocess.run(["git", "-C", str(hostile.folder), "status"], capture_output=True)
    assert hostile.marker.exists()


def test_since_starts_git_alone_and_nothing_that_the_repository_names(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f"echo ran >> {hostile.marker};"
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EDITOR"):
        monkeypatch.setenv(name, command)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", command)
    monkeypatch.setenv("GIT_TRACE", str(hostile.marker))
    (hostile.folder / "a.py").write_text(BAD_DEVICE + 'e = torch.device("gpu2")\n')
    done = subprocess.run(
        [sys.executable, "-c", COMPARE], cwd=hostile.folder, capture_output=True, text=True
    )
    code, started = json.loads(done.stderr.splitlines()[-1])
    assert code == 1
    assert "a.py:4" in done.stdout
    assert "b.py:3" in done.stdout
    assert "a.py:3" not in done.stdout
    assert started
    for program, words in started:
        assert program == shutil.which("git")
        assert READ_ONLY & set(words.replace("'", "").replace(",", "").strip("[]").split())
    assert not hostile.marker.exists()


def test_since_reads_no_more_of_git_where_nothing_is_asked(hostile: Hostile) -> None:
    quiet = COMPARE.replace('"--since", "HEAD~1", ', "")
    done = subprocess.run(
        [sys.executable, "-c", quiet], cwd=hostile.folder, capture_output=True, text=True
    )
    assert json.loads(done.stderr.splitlines()[-1]) == [1, []]


def test_a_server_is_never_asked(hostile: Hostile, project: Project) -> None:
    blob = hostile.made.folder / ".git/objects"
    name = subprocess.run(
        ["git", "-c", "core.fsmonitor=", "-C", str(hostile.folder), "rev-parse", "HEAD~1:b.py"],
        capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    hostile.marker.unlink(missing_ok=True)
    (blob / name[:2] / name[2:]).unlink()
    command = f"ext::sh -c echo% ran% >>% {hostile.marker};"
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "remote.origin.promisor": "true",
        "remote.origin.url": command,
    }.items():
        plain = ["git", "config", "--file", str(hostile.folder / ".git/config"), key, value]
        subprocess.run(plain, check=True)
    os.chdir(hostile.folder)
    ran = project.concise("--since=HEAD~1")
    assert ran.code == 2
    assert ran.err.startswith("devlint: --since: ")
    assert not hostile.marker.exists()


def test_git_is_none_that_the_tree_holds(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Repository(tmp_path / "repo")
    made.commit({"a.py": BAD_DEVICE})
    marker = tmp_path / "ran"
    for folder in (made.folder, made.folder / "bin", tmp_path / "other"):
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text(f"#!/bin/sh\necho ran >> {marker}\n")
        (folder / "git").chmod(0o755)
    (tmp_path / "other" / "git").unlink()
    (tmp_path / "other" / "git").symlink_to(made.folder / "bin" / "git")
    os.chdir(made.folder)
    inside = ["", ".", "bin", str(made.folder), str(made.folder / "bin"), str(tmp_path / "other")]
    monkeypatch.setenv("PATH", os.pathsep.join([*inside, os.environ["PATH"]]))
    ran = project.concise("--since=HEAD")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert not marker.exists()


@pytest.mark.skipif(os.name != "posix", reason="needs scripts")
def test_git_looks_for_no_program_in_the_tree(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Repository(tmp_path / "repo")
    made.commit({"a.py": BAD_DEVICE})
    marker, tools = tmp_path / "ran", tmp_path / "tools"
    tools.mkdir()
    for folder, name, text in (
        (made.folder, "helper", f"echo ran >> {marker}"),
        (tools, "git", f'helper\nexec {shutil.which("git")} "$@"'),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    os.chdir(made.folder)
    path = [str(made.folder), ".", "", str(tools), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(path))
    ran = project.concise("--since=HEAD")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert not marker.exists()


def tree_of(made: Repository, folder: Path, rows: list[tuple[str, str, str]]) -> str:
    """A tree of rows of mode, name and object, however it is."""
    data = b"".join(
        f"{mode} {name}".encode() + b"\0" + bytes.fromhex(target) for mode, name, target in rows
    )
    (folder / "tree").write_bytes(data)
    arguments = ("hash-object", "-w", "-t", "tree", "--literally", str(folder / "tree"))
    return made.git(*arguments)


def commit_of(made: Repository, tree: str) -> str:
    return made.git("commit-tree", "-m", "odd", tree)


def test_a_tree_writes_nothing_elsewhere(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Repository(tmp_path / "repo")
    made.commit({"a.py": BAD_DEVICE})
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    blob = made.git("rev-parse", "HEAD:a.py")
    (tmp_path / "target").write_text(str(place))
    absolute = made.git("hash-object", "-w", str(tmp_path / "target"))
    (tmp_path / "target").write_text("../" * 40 + str(place)[1:])
    up = made.git("hash-object", "-w", str(tmp_path / "target"))
    (tmp_path / "target").write_text(".")
    here = made.git("hash-object", "-w", str(tmp_path / "target"))
    (tmp_path / "target").write_text("here/../../../../../../../../../..")
    through = made.git("hash-object", "-w", str(tmp_path / "target"))
    inner = tree_of(made, tmp_path, [("100644", "evil.py", blob), ("120000", "link.py", up)])
    outside = tree_of(made, tmp_path, [("100644", "evil.py", blob)])
    for _ in range(len(made.folder.parts) + 2):  # out of the private folder
        outside = tree_of(made, tmp_path, [("40000", "..", outside)])
    rows = [
        ("100644", "/evil.py", blob),
        ("40000", "sub", outside),
        ("100644", "a.py", blob),
        ("100644", "a.py", blob),
        ("100644", "nul.py", blob),
        ("120000", "absolute", absolute),
        ("40000", "absolute", inner),
        ("120000", "here", here),
        ("120000", "through", through),
        ("40000", "through", inner),
        ("120000", "up", up),
        ("120000", "up.py", up),
        ("40000", "up", inner),
        ("40000", "..", inner),
        ("40000", ".", inner),
        ("40000", ".GIT", inner),
        ("40000", "a.py", inner),
    ]
    commit = commit_of(made, tree_of(made, tmp_path, rows))
    os.chdir(made.folder)
    seen: list[list[str]] = []
    removed = tempfile.TemporaryDirectory.cleanup

    def look(folder: tempfile.TemporaryDirectory[str]) -> None:
        links = [str(p) for p in Path(folder.name).rglob("*") if p.is_symlink()]
        outside = (p for p in links if not Path(p).resolve().is_relative_to(folder.name))
        seen.append(list(outside))
        removed(folder)

    monkeypatch.setattr(tempfile.TemporaryDirectory, "cleanup", look)
    before = sorted(tmp_path.rglob("*"))
    ran = project.concise(f"--since={commit}")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert seen == [[]]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_tree_that_holds_itself_many_times_over(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Repository(tmp_path / "repo")
    made.commit({"a.py": BAD_DEVICE})
    tree = made.git("rev-parse", "HEAD^{tree}")
    for _ in range(12):
        tree = tree_of(made, tmp_path, [("40000", name, tree) for name in "0123456789"])
    commit = commit_of(made, tree)
    os.chdir(made.folder)
    monkeypatch.setattr(git, "_MOST_ENTRIES", 20_000)
    ran = project.concise(f"--since={commit}")
    assert (ran.code, ran.err) == (
        2,
        f"devlint: --since: {commit} has more than 20,000 files\n",
    )
    monkeypatch.undo()
    os.chdir(made.folder)
    monkeypatch.setattr(checkout, "_MOST_BYTES", 10 * len(BAD_DEVICE))
    flat = [("100644", f"{number}.py", made.git("rev-parse", "HEAD:a.py")) for number in range(11)]
    ran = project.concise(f"--since={commit_of(made, tree_of(made, tmp_path, flat))}")
    assert ran.code == 2
    assert ran.err.startswith("devlint: --since: the sources of the revision have more than ")


@pytest.mark.skipif(os.name != "posix", reason="needs pipes with names")
def test_a_setting_that_leads_to_a_pipe_ends(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Repository(tmp_path / "repo")
    made.commit({"a.py": BAD_DEVICE})
    os.mkfifo(tmp_path / "pipe")
    with (made.folder / ".git/config").open("a") as config:
        config.write(f"[include]\n\tpath = {tmp_path / 'pipe'}\n")
    monkeypatch.setattr(git, "_PATIENCE", 1.0)
    os.chdir(made.folder)
    ran = project.concise("--since=HEAD")
    text = "git rev-parse has not ended in 1 seconds"
    assert (ran.code, ran.out, ran.err) == (2, "", f"devlint: --since: {text}\n")


def test_what_a_repository_is_called_is_printed_escaped(project: Project, tmp_path: Path) -> None:
    made = Repository(tmp_path / "re\npo\x1b[31m")
    made.commit({"a.py": BAD_DEVICE})
    os.chdir(made.folder)
    ran = project.concise("--since=no\npe")
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert "\x1b" not in ran.err


def test_a_file_named_like_the_option_gives_no_orders(project: Project, tmp_path: Path) -> None:
    project.write({"--since=HEAD": "", "a.py": BAD_DEVICE})
    ran = project.concise("--since=HEAD")
    assert (ran.code, ran.err) == (
        2,
        "devlint: `--since=HEAD` is a file here: put `--` before the paths\n",
    )
