"""Repositories and archives of strangers: reading them runs nothing, and writes nowhere else."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import clones
import diff
import pytest
import unpacking
from repository import Repository

COMMANDS = """
core.alternateRefsCommand core.editor core.fsmonitor core.gitProxy core.pager core.sshCommand
credential.helper diff.external diff.x.command diff.x.textconv filter.x.clean filter.x.process
filter.x.smudge gpg.program gpg.ssh.program interactive.diffFilter merge.x.driver
pager.cat-file pager.ls-tree pager.rev-parse remote.origin.receivepack remote.origin.uploadpack
sequence.editor tar.tar.command uploadpack.packObjectsHook
""".split()
"""Settings whose values git runs."""

HOOKS = """
fsmonitor-watchman post-checkout post-index-change post-update pre-auto-gc proc-receive
reference-transaction
""".split()


class Hostile:
    """A repository each of whose settings and hooks writes a marker when git runs it."""

    def __init__(self, folder: Path) -> None:
        made = Repository(folder / "clone")
        self.marker = folder / "ran"
        self.clone = made.folder / ".git"
        attributes = "* filter=x diff=x merge=x text\n"
        files = {".gitattributes": attributes, "src/a.py": "a = 1\n", "src/absent.py": "b = 2\n"}
        self.commit = made.commit({**files, "rules/r.md": "r\n"})
        command = f"echo ran >> {self.marker};"
        for hook in HOOKS:
            path = self.clone / "hooks" / hook
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\n{command}\n")
            path.chmod(0o755)
        # A clone that lacks an object, and says that its server has it.
        blob = made.git("rev-parse", f"{self.commit}:src/absent.py")
        (self.clone / "objects" / blob[:2] / blob[2:]).unlink()
        settings = {
            **dict.fromkeys(COMMANDS, command),
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "origin",
            "filter.x.required": "false",
            "log.showSignature": "true",
            "protocol.allow": "always",
            "protocol.ext.allow": "always",
            "remote.origin.promisor": "true",
            "remote.origin.url": f"ext::sh -c {command.replace(' ', '% ')}",
        }
        for name, value in settings.items():
            # Not by `made.git`: git itself would run some of these.
            plain = ["git", "config", "--file", str(self.clone / "config"), name, value]
            subprocess.run(plain, check=True)


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


def test_the_repository_is_hostile(hostile: Hostile) -> None:
    """Git as it is runs what the settings name."""
    archive = ["git", "-C", str(hostile.clone.parent), "archive", hostile.commit, "rules"]
    subprocess.run(archive, capture_output=True)
    assert hostile.marker.exists()


def test_reading_a_clone_runs_nothing_that_it_names(
    hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, f"echo ran >> {hostile.marker};")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    assert clones.commit_of(hostile.clone, "HEAD") == hostile.commit
    assert clones.content(hostile.clone, hostile.commit, "src/a.py") == b"a = 1\n"
    assert clones.content(hostile.clone, hostile.commit, "src/absent.py") is None
    assert clones.check_out(hostile.clone, hostile.commit, tmp_path / "out", lambda path: True)
    there = sorted(path.name for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert there == [".gitattributes", "a.py", "r.md"]
    monkeypatch.setattr(diff, "ROOT", hostile.clone.parent)
    with diff.source_of(diff.commit_of("HEAD")) as source:
        assert (source / "a.py").read_text() == "a = 1\n"
    assert not hostile.marker.exists()


def test_a_replaced_commit_is_what_its_name_says(tmp_path: Path) -> None:
    made = Repository(tmp_path / "clone")
    first = made.commit({"a.py": "first\n"})
    made.git("replace", first, made.commit({"a.py": "second\n"}))
    assert clones.content(made.folder / ".git", first, "a.py") == b"first\n"


def test_a_commit_writes_no_file_elsewhere(tmp_path: Path) -> None:
    made = Repository(tmp_path / "clone")
    made.commit({"a.py": "x\n"})
    blob = made.git("rev-parse", "HEAD:a.py")
    for name in (b"a.py", b".."):  # the tree of `../a.py`, which git makes only if it must
        entry = (b"100644 " if name != b".." else b"40000 ") + name + b"\0" + bytes.fromhex(blob)
        (tmp_path / "tree").write_bytes(entry)
        command = ("hash-object", "-w", "-t", "tree", "--literally", str(tmp_path / "tree"))
        blob = made.git(*command)
    with pytest.raises(SystemExit, match=r"refused to write '\.\./a\.py'"):
        clones.check_out(made.folder / ".git", blob, tmp_path / "out", lambda path: True)
    assert not (tmp_path / "a.py").exists()


def test_an_archive_gives_its_plain_files_only(tmp_path: Path) -> None:
    link, pipe = tarfile.TarInfo("p/link.py"), tarfile.TarInfo("p/pipe.py")
    link.type, link.linkname, pipe.type = tarfile.SYMTYPE, "/etc/passwd", tarfile.FIFOTYPE
    plain = tarfile.TarInfo("p/a.py")
    plain.mode, plain.uid = 0o6777, 1
    folder = tmp_path / "out"
    with archive_of([plain, link, pipe]) as archive:
        unpacking.unpack(archive, folder)
    assert [path.name for path in (folder / "p").iterdir()] == ["a.py"]
    assert (folder / "p/a.py").stat().st_mode & 0o7111 == 0


@pytest.mark.parametrize("name", ["../a.py", "/a.py", "p/../../a.py", "."])
def test_an_archive_writes_no_file_elsewhere(tmp_path: Path, name: str) -> None:
    with archive_of([tarfile.TarInfo(name)]) as archive, pytest.raises(SystemExit, match="leads"):
        unpacking.unpack(archive, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def archive_of(members: list[tarfile.TarInfo]) -> tarfile.TarFile:
    """An archive of empty files, as it is read."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for member in members:
            archive.addfile(member)
    packed.seek(0)
    return tarfile.open(fileobj=packed)
