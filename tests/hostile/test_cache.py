"""A cache that a stranger has made, or changed, says nothing."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project, Ran

from devlint.config.configuration import Configuration
from devlint.config.settings import check_layer
from devlint.config.sources import Source
from devlint.driver import cache, recall, signing
from devlint.driver.discover import discover
from devlint.driver.signing import Signer, user_folder

FILES = {"a.py": BAD_DEVICE, "b.py": "import torch\n\nw = torch.load('w.pt')\n", "c.py": CLEAN}
WORDS = ("--output-format=json", "--cache-dir=cache")


def fresh(project: Project) -> Ran:
    return project.run("--output-format=json", "--no-cache")


def results(project: Project) -> Path:
    (path,) = (project.folder / "cache").glob("*.results")
    return path


def test_a_cache_that_comes_with_a_repository_is_not_looked_at(project: Project) -> None:
    project.write(FILES)
    folder = project.folder / ".devlint_cache"
    folder.mkdir()
    (folder / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n")
    with sqlite3.connect(folder / "results.sqlite") as connection:
        connection.execute("CREATE TABLE results (key TEXT, path TEXT, findings TEXT)")
        connection.execute("CREATE VIEW engine AS SELECT * FROM results, results, results")
    connection.close()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert project.run("--output-format=json") == fresh(project)
    assert project.run("--output-format=json") == fresh(project)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_results_that_another_user_has_signed_are_none(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole cache, made by devlint itself over the same files, with its findings taken out."""
    project.write(FILES)
    monkeypatch.setenv("DEVLINT_CACHE_KEY", "a stranger's")
    project.run(*WORDS)
    path = results(project)
    data = path.read_bytes()
    start = data.index(b"\n") + 1 + 32
    rows = {name: [*row[:2], "", row[3]] for name, row in json.loads(data[start:]).items()}
    stamp, base = cache.stamp(), os.path.realpath(project.folder)
    names = {f"{stamp} {base} {key}" for key in recall.keys_of(sources(project)).values()}
    for name in names:
        path.write_bytes(Signer(signing.key()).sign(name, json.dumps(rows).encode()))
        assert project.run(*WORDS).out == "[]\n"  # the one that made the key is believed
        monkeypatch.delenv("DEVLINT_CACHE_KEY")
        assert project.run(*WORDS) == fresh(project)


def sources(project: Project) -> list[Source]:
    layers = (check_layer("the environment", "", {}), check_layer("the command line", "", {}))
    return discover((".",), Configuration(layers)).sources


def test_no_byte_of_it_can_be_changed(project: Project) -> None:
    project.write(FILES)
    expected = fresh(project)
    project.run(*WORDS)
    path = results(project)
    data = path.read_bytes()
    dice = random.Random(7)
    for _ in range(60):
        changed = bytearray(data)
        changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        path.write_bytes(changed)
        assert project.run(*WORDS) == expected


NOTHING_OF_OURS = {
    "nested JSON": b"[" * 200_000,
    "signed by nobody": b"devlint results 2\n" + b"\0" * 32 + b"{}",
    "endless numbers": b"1" * 500_000,
    "empty": b"",
}


@pytest.mark.parametrize("data", NOTHING_OF_OURS.values(), ids=NOTHING_OF_OURS)
def test_what_is_no_result_is_passed_over(project: Project, data: bytes) -> None:
    project.write(FILES)
    project.run(*WORDS)
    results(project).write_bytes(data)
    assert project.run(*WORDS) == fresh(project)


def link(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.skipif(os.name != "posix", reason="needs pipes with names")
@pytest.mark.parametrize("make", [link, pipe, folder])
@pytest.mark.parametrize("target", ["results", "key"])
def test_what_is_not_plain_is_refused_and_not_touched(
    project: Project, make: Callable[[Path], None], target: str
) -> None:
    project.write(FILES)
    project.run(*WORDS)
    path = results(project) if target == "results" else Path(user_folder()) / "key"
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    before = elsewhere.read_bytes()
    make(path)
    kind = stat.S_IFMT(path.lstat().st_mode)
    ran = project.run(*WORDS)
    assert (ran.out, ran.code) == (fresh(project).out, 1)
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("devlint: warning: ")
    assert elsewhere.read_bytes() == before
    if target == "key" or make is folder:
        assert stat.S_IFMT(path.lstat().st_mode) == kind


def test_a_link_in_the_place_of_the_folder_is_refused(project: Project) -> None:
    project.write({**FILES, "precious/data.txt": "x"})
    (project.folder / "cache").symlink_to("precious")
    ran = project.run(*WORDS)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("precious: name that place instead\n")
    assert project.run("clean", "--cache-dir=cache").code == 2
    assert [path.name for path in (project.folder / "precious").iterdir()] == ["data.txt"]


@pytest.mark.skipif(os.name != "posix", reason="needs modes of POSIX")
def test_a_key_that_others_can_read_signs_nothing(project: Project) -> None:
    project.write(FILES)
    project.run(*WORDS)
    (Path(user_folder()) / "key").chmod(0o644)
    ran = project.run(*WORDS)
    assert ran.out == fresh(project).out
    assert "may be known to others: delete it" in ran.err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_a_cache_of_somebody_else_is_none(project: Project) -> None:
    project.write(FILES)
    project.run(*WORDS)
    os.chown(project.folder / "cache", 12345, 12345)
    ran = project.run(*WORDS)
    assert ran.out == fresh(project).out
    assert "(it belongs to another user)" in ran.err
