"""Files are replaced in one step, and nothing of anybody's is lost."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from io import FileIO
from pathlib import Path

import pytest

from devlint.safety import writing
from devlint.safety.writing import ChangedError, check_writable, overwrite, rewrite


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    return path


def test_the_mode_stays_and_nothing_is_left_behind(path: Path) -> None:
    path.chmod(0o751)
    rewrite(str(path), b"old", b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert list(path.parent.iterdir()) == [path]


def test_the_target_of_a_link_is_written(path: Path) -> None:
    link = path.with_name("link.py")
    link.symlink_to(path)
    rewrite(str(link), b"old", b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_a_failure_leaves_the_original(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        rewrite(str(path), b"old", b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="needs names of streams")
def test_what_can_not_be_replaced_is_written_as_it_is(path: Path) -> None:
    link = path.with_name("link.py")
    link.symlink_to(path)
    overwrite(str(link), b"new")
    assert (link.is_symlink(), path.read_bytes()) == (True, b"new")
    with path.open("wb") as file:
        overwrite(f"/dev/fd/{file.fileno()}", b"to the stream")
        assert os.path.samestat(os.fstat(file.fileno()), path.stat())
    assert path.read_bytes() == b"to the stream"
    out, into = os.pipe()
    overwrite(f"/dev/fd/{into}", b"to the pipe")
    os.close(into)
    assert os.read(out, 100) == b"to the pipe"
    os.close(out)


@pytest.mark.parametrize("name", ["missing/a", ".", "locked"])
def test_a_place_that_can_not_be_written_is_known_before(path: Path, name: str) -> None:
    (path.parent / "locked").touch(0o400)
    if name != "locked" or os.geteuid() != 0:
        with pytest.raises(OSError, match=r"No such file|Is a directory|read-only"):
            check_writable(str(path.parent / name))
    check_writable(str(path))
    check_writable(str(path.parent / "new"))
    assert path.read_bytes() == b"old"
    assert sorted(each.name for each in path.parent.iterdir()) == ["a.py", "locked"]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="it is not a plain file"):
        rewrite(str(tmp_path), b"old", b"new")
    with pytest.raises(FileNotFoundError):
        rewrite(str(tmp_path / "gone.py"), b"old", b"new")
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_file_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"it is read-only: .*a\.py"):
        rewrite(str(path), b"old", b"new")
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("meanwhile", [b"old and more", b"ol", b"odd", b""])
def test_a_file_that_is_not_what_was_read_is_left(path: Path, meanwhile: bytes) -> None:
    path.write_bytes(meanwhile)
    with pytest.raises(ChangedError, match="it was changed meanwhile"):
        rewrite(str(path), b"old", b"new")
    assert path.read_bytes() == meanwhile
    assert list(path.parent.iterdir()) == [path]


def _replace(path: Path) -> None:
    path.with_name("b").write_bytes(b"theirs")
    path.with_name("b").replace(path)


INSTANTS = {
    "written": lambda path: path.write_bytes(b"theirs"),
    "replaced": _replace,
    "removed": lambda path: path.unlink(),
}


@pytest.mark.parametrize("change", INSTANTS.values(), ids=INSTANTS)
def test_a_change_while_the_new_file_is_made_is_not_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    take_over = writing._take_over

    def meanwhile(original: int, descriptor: int, target: str) -> None:
        take_over(original, descriptor, target)
        change(path)

    monkeypatch.setattr(writing, "_take_over", meanwhile)
    with pytest.raises(OSError):
        rewrite(str(path), b"old", b"new")
    assert [item.read_bytes() for item in path.parent.iterdir()] in ([b"theirs"], [])


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b" and more")


def save_by_a_rename(path: Path) -> None:
    saved = path.with_name("saved")
    saved.write_bytes(b"theirs")
    saved.replace(path)


LAST_INSTANT = {"appended to": (append, b"old and more")}
if sys.platform == "linux":
    LAST_INSTANT["saved by a rename"] = (save_by_a_rename, b"theirs")


@pytest.mark.parametrize(("change", "kept"), LAST_INSTANT.values(), ids=LAST_INSTANT)
def test_a_change_in_the_last_instant_is_not_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object], kept: bytes
) -> None:
    exchange = writing._exchange

    def late(new: str, target: str) -> bool:
        monkeypatch.setattr(writing, "_exchange", exchange)
        change(path)
        return exchange(new, target)

    monkeypatch.setattr(writing, "_exchange", late)
    with pytest.raises(ChangedError):
        rewrite(str(path), b"old", b"new")
    assert [item.read_bytes() for item in path.parent.iterdir()] == [kept]


def test_where_names_can_not_be_exchanged_the_file_is_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_exchange", lambda one, other: False)
    rewrite(str(path), b"old", b"new")
    assert [item.read_bytes() for item in path.parent.iterdir()] == [b"new"]


@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux's")
def test_of_two_saves_in_the_last_instant_the_newest_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange = writing._exchange

    def late(new: str, target: str) -> bool:
        save_by_a_rename(path)
        exchanged = exchange(new, target)
        path.with_name("saved").write_bytes(b"newest")
        path.with_name("saved").replace(path)
        monkeypatch.setattr(writing, "_exchange", exchange)
        return exchanged

    monkeypatch.setattr(writing, "_exchange", late)
    with pytest.raises(ChangedError):
        rewrite(str(path), b"old", b"new")
    assert [item.read_bytes() for item in path.parent.iterdir()] == [b"newest"]


def test_one_of_several_names_of_a_file_is_not_replaced(path: Path) -> None:
    path.with_name("b.py").hardlink_to(path)
    with pytest.raises(OSError, match="it has 2 hard links"):
        rewrite(str(path), b"old", b"new")
    assert path.with_name("b.py").samefile(path)
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs extended attributes of Linux")
def test_extended_attributes_stay_or_the_file_does(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    rewrite(str(path), b"old", b"new")
    assert os.getxattr(path, "user.note") == b"kept"

    def refuse(*_: object) -> None:
        raise OSError(95, "not supported")

    monkeypatch.setattr(os, "setxattr", refuse)
    with pytest.raises(OSError, match=r"its extended attribute user\.note can't be kept"):
        rewrite(str(path), b"new", b"newer")
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays_or_the_file_does(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(path, 12345, 23456)
    rewrite(str(path), b"old", b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    with pytest.raises(OSError, match="it belongs to another user or group"):
        rewrite(str(path), b"new", b"newer")
    assert path.read_bytes() == b"new"


def test_the_longest_name(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".py")
    path.write_bytes(b"old")
    rewrite(str(path), b"old", b"new")
    assert path.read_bytes() == b"new"


KILLED = """
import os, signal, sys
from devlint.safety import writing
writing._exchange = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
writing.rewrite(sys.argv[1], b"old", b"new")
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_what_a_killed_run_has_left_is_removed_by_the_next(path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(path)])
    assert len(list(path.parent.iterdir())) == 2
    path.with_name(".devlint-notes.tmp").write_text("somebody's")
    rewrite(str(path), b"old", b"new")
    assert sorted(item.name for item in path.parent.iterdir()) == [".devlint-notes.tmp", "a.py"]


def test_a_run_that_is_still_writing_keeps_its_file(path: Path) -> None:
    path.with_name("b.py").write_bytes(b"old")
    with writing._temporary(str(path.parent), b"half") as other:
        rewrite(str(path.with_name("b.py")), b"old", b"new")
        assert Path(other.name).read_bytes() == b"half"


def test_a_full_disk_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(FileIO):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "FileIO", Full)
    with pytest.raises(OSError, match="No space left"):
        rewrite(str(path), b"old", b"new")
    with pytest.raises(OSError, match="No space left"):
        writing.create(str(path.with_name("new.json")), b"new")
    assert [item.read_bytes() for item in path.parent.iterdir()] == [b"old"]


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs extended attributes of Linux")
def test_what_a_folder_gives_to_new_files_is_not_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As rights for another user to every new file in it."""
    create = writing._open_private

    def inherit(name: str, flags: int) -> int:
        descriptor = create(name, flags)
        os.setxattr(descriptor, "user.inherited", b"x")
        return descriptor

    monkeypatch.setattr(writing._temporary.__wrapped__, "__defaults__", (inherit,))
    try:
        rewrite(str(path), b"old", b"new")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    assert path.read_bytes() == b"new"
    assert os.listxattr(path) == []


@pytest.mark.skipif(os.name != "posix", reason="needs locks of POSIX")
def test_no_run_begins_to_write_while_another_removes_leftovers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    cleaned: list[str] = []

    def clean(folder: str) -> None:
        descriptor = os.open(folder, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        os.close(descriptor)
        cleaned.append(folder)

    monkeypatch.setattr(writing, "_remove_leftovers", clean)
    rewrite(str(path), b"old", b"new")
    assert cleaned == [str(path.parent)]


@pytest.mark.skipif(os.name != "posix", reason="needs locks of POSIX")
def test_a_run_waits_for_one_that_removes_leftovers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    folder = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            fcntl.flock(folder, fcntl.LOCK_UN)

    monkeypatch.setattr("devlint.safety.locking.time.sleep", sleep)
    rewrite(str(path), b"old", b"new")
    os.close(folder)
    assert len(waits) == 3
    assert path.read_bytes() == b"new"
