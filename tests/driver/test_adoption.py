"""Old code: suppressing what is there, and baselines."""

from __future__ import annotations

import json

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project

HEAD = "import torch\n"
GPU = 'torch.device("gpu")'

PLACES = {
    "a plain row": (f"d = {GPU}\n", f"d = {GPU}  # devlint: ignore[DEV304]\n"),
    "blanks at the end": (f"d = {GPU}  \n", f"d = {GPU}  # devlint: ignore[DEV304]\n"),
    "no newline at the end": (f"d = {GPU}", f"d = {GPU}  # devlint: ignore[DEV304]"),
    "a comment": (f"d = {GPU}  # why\n", f"d = {GPU}  # why  # devlint: ignore[DEV304]\n"),
    "several rows": (
        f"f(\n    {GPU},\n    1,\n)\n",
        f"f(\n    {GPU},\n    1,\n)  # devlint: ignore[DEV304]\n",
    ),
    "a header": (
        f"if {GPU}:\n    pass\n",
        f"if {GPU}:  # devlint: ignore[DEV304]\n    pass\n",
    ),
    "more codes": (
        "x = torch.zeros(3)\nx.cuda(0); torch.load('w')  # devlint: ignore[DEV106] -- old\n",
        "DEV106, ",
    ),
    "a string over several rows": (
        f'f({GPU}, """\nd\n""")\n',
        f'f({GPU}, """\nd\n""")  # devlint: ignore[DEV304]\n',
    ),
    "a joined row": (
        f"d = \\\n    {GPU}\n",
        f"d = \\\n    {GPU}  # devlint: ignore[DEV304]\n",
    ),
    "a statement that a joined one follows": (
        f"if 1:\n    d = {GPU}; \\\n    e = 1\n",
        f"if 1:\n    # devlint: ignore[DEV304]\n    d = {GPU}; \\\n    e = 1\n",
    ),
    "a statement before a long string": (
        f'd = {GPU}; s = """\n"""\n',
        f'# devlint: ignore[DEV304]\nd = {GPU}; s = """\n"""\n',
    ),
    "CRLF": (f"d = {GPU}\r\n", f"d = {GPU}  # devlint: ignore[DEV304]\r\n"),
}


@pytest.mark.parametrize(("code", "expected"), PLACES.values(), ids=PLACES)
def test_add_ignore_writes_where_it_works(project: Project, code: str, expected: str) -> None:
    project.write({"a.py": HEAD + code})
    ran = project.run("--add-ignore")
    assert expected in project.read("a.py")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("Suppressed ")
    again = project.run()
    assert (again.code, again.err) == (0, "")  # nothing is left, and no comment is idle
    before = project.read("a.py")
    assert project.run("--add-ignore").err == "Suppressed 0 findings.\n"
    assert project.read("a.py") == before


def test_add_ignore_with_a_reason(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    project.run("--add-ignore=ours only  runs\nthere")
    assert project.read("a.py").endswith("  # devlint: ignore[DEV304] -- ours only runs there\n")


def test_add_ignore_takes_no_path_for_a_reason(project: Project) -> None:
    project.write({"src/a.py": BAD_DEVICE, "other.py": BAD_DEVICE})
    assert project.run("--add-ignore", "src").err == "Suppressed 1 finding.\n"
    assert project.read("other.py") == BAD_DEVICE
    assert project.run("src").code == 0


def test_add_ignore_leaves_what_it_can_not_suppress(project: Project) -> None:
    project.write(
        {"a.py": BAD_DEVICE, "broken.py": "def f(:\n", "idle.py": "x = 1  # noqa: DEV1\n"}
    )
    ran = project.run("--add-ignore")
    assert "broken.py:1:7: DEV001" in ran.err
    assert "Suppressed 1 finding." in ran.err
    assert ran.code == 2
    assert project.read("broken.py") == "def f(:\n"


def test_add_ignore_keeps_encoding_and_mode(project: Project) -> None:
    data = f"# coding: latin-1\nimport torch\nd = {GPU}  # caf\xe9\n".encode("latin-1")
    project.write({"a.py": data})
    (project.folder / "a.py").chmod(0o755)
    project.run("--add-ignore")
    new = (project.folder / "a.py").read_bytes()
    assert new == data.rstrip(b"\n") + b"  # devlint: ignore[DEV304]\n"
    assert (project.folder / "a.py").stat().st_mode & 0o777 == 0o755


# --- baselines -----------------------------------------------------------------------------


def test_a_baseline_is_written_once_and_hides_what_it_lists(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "sub/b.py": BAD_DEVICE})
    ran = project.run("--baseline", "base.json")
    assert ran.code == 0
    assert ran.err == "Wrote a baseline of 2 findings to base.json.\n"
    written = project.read("base.json")
    assert str(project.folder) not in written
    assert [entry["path"] for entry in json.loads(written)["findings"]] == ["a.py", "sub/b.py"]
    assert project.run("--baseline", "base.json").code == 0
    project.write({"c.py": BAD_DEVICE})
    ran = project.concise("--baseline", "base.json")
    assert ran.out.startswith("c.py:3:")
    assert ran.code == 1
    assert project.read("base.json") == written


EDITS = {
    "rows above": ("import os\nimport torch\n\n\n\n" + f"d = {GPU}\n", 0),
    "indented": (f"import torch\n\nif 1:\n    d = {GPU}\n", 0),
    "rewrapped": ('import torch\n\nd = torch.device(\n    "gpu"\n)\n', 0),
    "gone": (CLEAN, 0),
    "changed": ('import torch\n\nd = torch.device("CUDA")\n', 1),
    "twice": (BAD_DEVICE + f"d = {GPU}\n", 1),
    "another code": ('import torch\n\nw = torch.load("w")\n', 1),
}


@pytest.mark.parametrize(("text", "new"), EDITS.values(), ids=EDITS)
def test_a_baseline_survives_shifts_and_sees_what_is_new(
    project: Project, text: str, new: int
) -> None:
    project.write({"a.py": BAD_DEVICE})
    project.run("--baseline", "base.json")
    project.write({"a.py": text})
    ran = project.concise("--baseline", "base.json")
    assert ran.out.count(": DEV") == new
    assert ran.code == min(new, 1)


def test_a_baseline_holds_from_every_folder(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write({"sub/a.py": BAD_DEVICE})
    project.run("--baseline", "base.json")
    monkeypatch.chdir(project.folder / "sub")
    assert project.run("--baseline", "../base.json").code == 0


def test_a_baseline_hides_no_file_that_can_not_be_checked(project: Project) -> None:
    project.write({"a.py": "def f(:\n"})
    assert project.run("--baseline", "base.json").code == 2
    ran = project.concise("--baseline", "base.json")
    assert "DEV001" in ran.out
    assert ran.code == 2


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 1}', '{"version": 1, "findings": 3}']
)
def test_what_is_no_baseline(project: Project, text: str) -> None:
    project.write({"a.py": BAD_DEVICE, "base.json": text})
    ran = project.run("--baseline", "base.json")
    assert ran.err == "devlint: base.json: this is no baseline of devlint\n"
    assert ran.code == 2
