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
    assert ran.err == "devlint: base.json: this isn't a devlint baseline\n"
    assert ran.code == 2


# --- what isn't there any more -------------------------------------------------------------

WITH = ("-n", "--baseline=base.json")
UPDATE = (*WITH, "--update-baseline")
TWO = BAD_DEVICE + f"e = {GPU}\n"
LOAD = 'import torch\n\nw = torch.load("w.pt")\n'
"""DEV106."""


def listed(project: Project) -> list[str]:
    found = json.loads(project.read("base.json"))["findings"]
    return [f"{entry['path']} {entry['code']}" for entry in found]


def test_obsolete_entries_are_told(project: Project) -> None:
    project.write({"a.py": TWO, "sub/b.py": BAD_DEVICE})
    project.run(*WITH)
    assert project.run(*WITH).err == ""
    before = project.read("base.json")
    project.write({"a.py": BAD_DEVICE})
    ran = project.run(*WITH)
    told = "base.json: 1 entry matches nothing any more: --update-baseline removes it.\n"
    assert (ran.code, ran.err) == (0, told)
    (project.folder / "sub" / "b.py").unlink()
    ran = project.run(*WITH)
    told = "base.json: 2 entries match nothing any more: --update-baseline removes them.\n"
    assert (ran.code, ran.err) == (0, told)
    assert project.run(*WITH, "-q").err == ""
    assert project.read("base.json") == before


def test_an_update_lists_what_is_found_now(project: Project) -> None:
    project.write({"a.py": TWO, "b.py": BAD_DEVICE, "c.py": CLEAN})
    project.run(*WITH)
    project.write({"a.py": BAD_DEVICE, "c.py": LOAD})
    (project.folder / "b.py").unlink()
    ran = project.run(*UPDATE)
    assert (ran.code, ran.err) == (0, "Updated base.json: 1 added, 2 removed.\n")
    assert listed(project) == ["a.py DEV304", "c.py DEV106"]
    again = project.read("base.json")
    ran = project.run(*UPDATE)
    assert ran.err == "base.json lists what is found: nothing to update.\n"
    assert project.read("base.json") == again
    assert project.run(*WITH).code == 0
    project.write({"d.py": BAD_DEVICE})
    assert project.run(*WITH).code == 1


def test_an_update_is_what_a_new_baseline_would_be(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "b.py": LOAD})
    project.run(*WITH)
    project.write({"a.py": LOAD, "c.py": TWO})
    project.run(*UPDATE)
    project.run("-n", "--baseline=other.json")
    assert project.read("base.json") == project.read("other.json")


def test_an_update_without_a_baseline_writes_one(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    assert project.run(*UPDATE).err == "Wrote a baseline of 1 finding to base.json.\n"


NOT_CHECKED = {
    "files that aren't linted": (["a.py"], {}),
    "files that are excluded": (["--extend-exclude=b.py", "."], {}),
    "rules that aren't selected": (["--select=DEV1"], {}),
    "rules that are left out": (["--ignore=DEV3"], {}),
    "rules that are left out of a file": (["--per-file-ignores=*.py:DEV3"], {}),
    "files that don't parse": ([], {"b.py": "def f(:\n"}),
    "files that are too large": (["--config=max-file-size=40"], {}),
}


@pytest.mark.parametrize(("options", "files"), NOT_CHECKED.values(), ids=NOT_CHECKED)
def test_entries_stay_of_what_the_run_does_not_check(
    project: Project, options: list[str], files: dict[str, str | bytes]
) -> None:
    project.write({"a.py": CLEAN, "b.py": TWO})
    project.run(*WITH)
    before = project.read("base.json")
    project.write(files)
    assert "any more" not in project.run(*WITH, *options).err
    project.run(*UPDATE, *options)
    assert project.read("base.json") == before


def test_entries_of_what_is_withheld_stay(project: Project) -> None:
    loose = "import torch\n\nx = torch.ones(3)\nx.to('cuda')\n"
    project.write({"a.py": loose})
    pedantic = ("--select=DEV302", "--pedantic")
    project.run(*WITH, *pedantic)
    assert listed(project) == ["a.py DEV302"]
    strict = ("--select=DEV302", "--min-confidence=100")
    assert project.run(*WITH, *strict).err == ""
    assert "nothing to update" in project.run(*UPDATE, *strict).err


def test_entries_of_a_rule_that_there_is_no_more_go(project: Project) -> None:
    project.write({"a.py": CLEAN})
    entry = {"path": "other.py", "code": "DEV999", "fingerprint": "0" * 32}
    project.write({"other.py": CLEAN, "base.json": json.dumps({"version": 1, "findings": [entry]})})
    assert "1 entry matches nothing" in project.run(*WITH, "a.py").err
    assert project.run(*UPDATE, "a.py").err == "Updated base.json: 0 added, 1 removed.\n"


@pytest.mark.parametrize("name", ["caf\udce9.py", "caf\\udce9.py"])
def test_entries_of_files_with_odd_names_stay(project: Project, name: str) -> None:
    project.write({"a.py": CLEAN, name: BAD_DEVICE})
    project.run(*WITH)
    before = project.read("base.json")
    assert project.run(*WITH).err == project.run(*WITH, "a.py").err == ""
    project.run(*UPDATE, "a.py")
    assert project.read("base.json") == before
    project.write({name: CLEAN})
    assert "1 entry matches nothing" in project.run(*WITH).err


def test_what_a_fix_has_repaired_is_obsolete(project: Project) -> None:
    project.write({"a.py": "x = 1  # devlint: ignore[DEV101]\n"})
    project.run(*WITH)
    assert "1 entry matches nothing" in project.run(*WITH, "--fix").err
    project.run(*UPDATE)
    assert listed(project) == []


def test_an_update_of_what_is_no_baseline_leaves_it(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "base.json": '{"version": 1, "findings": [{}]}'})
    ran = project.run(*UPDATE)
    assert (ran.code, ran.err) == (2, "devlint: base.json: this isn't a devlint baseline\n")
    assert project.read("base.json") == '{"version": 1, "findings": [{}]}'
    project.write({"base.json": '{"version": 2, "findings": []}'})
    ran = project.run(*UPDATE)
    assert ran.err == "devlint: base.json: made by another version of devlint; write it again\n"


def test_an_update_that_can_not_be_written_says_so(project: Project) -> None:
    project.write({"sub/a.py": BAD_DEVICE})
    project.run("-n", "--baseline=sub/base.json")
    before = project.read("sub/base.json")
    project.write({"sub/a.py": LOAD})
    (project.folder / "sub").chmod(0o555)
    try:
        ran = project.spawn(
            "-n", "--baseline=sub/base.json", "--update-baseline", unprivileged=True
        )
    finally:
        (project.folder / "sub").chmod(0o755)
    assert ran.code == 2
    assert ran.err.startswith("devlint: sub/base.json: ")
    assert project.read("sub/base.json") == before


# --- rules that were renamed or split -----------------------------------------------------------


def test_the_old_name_of_a_rule_stands_for_it(project: Project) -> None:
    text = "import torch\n\ny = torch.zeros(2, device=torch.zeros(2).device())\n"
    project.write({"a.py": text})
    assert project.found("--select=device-called") == ["a.py DEV309"]
    assert project.found("--ignore=device-called") == []
    project.write({"devlint.toml": 'levels = { device-called = "warning" }'})
    assert "warning[DEV309] called-device" in project.run("-n").out
    assert project.run("rule", "device-called").out == project.run("rule", "DEV309").out
    project.run("-n", "--baseline=b.json")
    (entry,) = json.loads(project.read("b.json"))["findings"]
    (finding,) = json.loads(project.run("-n", "--output-format=gitlab").out)
    assert (entry["code"], entry["fingerprint"]) == ("DEV309", finding["fingerprint"])
    assert project.run("-n", "--baseline=b.json").code == 0
    project.write({"a.py": text.replace("())\n", "())  # devlint: ignore[device-called]\n")})
    assert project.found("--select=ALL") == []


SPLIT = """\
import torch


def chosen(gpu_id, device: str):
    index = gpu_id or 1
    return torch.device("cuda", index), device or "cuda" if torch.cuda.is_available() else "cpu"
"""


def test_the_code_and_the_name_of_a_rule_that_was_split_stand_for_its_parts(
    project: Project,
) -> None:
    project.write({"a.py": SPLIT})
    both = ["a.py DEV113", "a.py DEV114"]
    assert project.found("--select=DEV112") == both
    assert project.found("--select=lossy-device-default") == both
    assert project.found("--select=DEV11", "--ignore=DEV112") == []
    assert project.found("--select=DEV11", "--ignore=dev112") == []
    ran = project.run("rule", "DEV112")
    assert ran.code == 2
    assert "`DEV112` was split: see DEV113 (device-index-taken-for-false), DEV114" in ran.err


def test_comments_and_baselines_from_before_a_rule_was_split_count(project: Project) -> None:
    words = "--select=DEV002,DEV11"
    for comment in ("# devlint: ignore[DEV112]", "# devlint: ignore[lossy-device-default]"):
        project.write({"a.py": SPLIT.replace("or 1", f"or 1  {comment}")})
        assert project.found(words) == ["a.py DEV114"]
    project.write({"a.py": SPLIT.replace("or 1", "or 1  # noqa: DEV112")})
    assert project.found(words) == ["a.py DEV114"]
    project.write({"a.py": "x = 1  # devlint: ignore[DEV112]\n"})
    assert project.found(words) == ["a.py DEV002"]

    project.write({"a.py": SPLIT})
    project.run("--no-cache", words, "--baseline=b.json")
    entries = json.loads(project.read("b.json"))["findings"]
    assert {each["code"] for each in entries} == {"DEV113", "DEV114"}
    old = [{**each, "code": "DEV112"} for each in entries]
    project.write({"b.json": json.dumps({"version": 1, "findings": old})})
    ran = project.run("--no-cache", words, "--baseline=b.json")
    assert (ran.code, "match nothing" in ran.out + ran.err) == (0, False)
