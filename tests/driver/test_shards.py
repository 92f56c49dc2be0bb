"""A run in parts: `--shard N/M`, and `devlint merge`, which joins what the parts have written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project, Ran

LOAD = 'import torch\n\nw = torch.load("w.pt")\nx = torch.zeros(3).cuda()\nx.numpy()\n'
LOAD += "torch.add(x, w.z)\ntorch.add(x, x)\n"
IN_TEST = 'import torch\n\n\ndef test_it():\n    torch.zeros(3, device="cuda:0")\n'
FILES: dict[str, str | bytes] = {
    "pyproject.toml": "",
    "a b.py": LOAD,
    "pkg/__init__.py": "",
    "pkg/one.py": f"from pkg import two\nfrom .three import x\n{BAD_DEVICE}",
    "pkg/two.py": LOAD,
    "pkg/three.py": f"x = 1\n{BAD_DEVICE}",
    "other/alone.py": LOAD,
    "other/clean.py": CLEAN,
    "tests/test_it.py": IN_TEST,
    "notes.ipynb": json.dumps({
        "cells": [
            {"cell_type": "code", "metadata": {}, "source": [line, "\n", BAD_DEVICE]}
            for line in ("x = 1", "y = 2")
        ],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    }),
}  # fmt: skip


def shards(project: Project, of: int, output_format: str, *words: str) -> list[Ran]:
    """Run each shard, and leave what it prints in `N.out`."""
    ran = []
    for number in range(1, of + 1):
        ran.append(
            project.run("-n", "--output-format", output_format, "--shard", f"{number}/{of}", *words)
        )
        project.write({f"{number}.out": ran[-1].out})
    return ran


def ended(ran: Ran) -> tuple[int, str, str]:
    return ran.code, ran.out, ran.err


def outputs(of: int) -> list[str]:
    return [f"{number}.out" for number in range(1, of + 1)]


@pytest.mark.parametrize("output_format", ["json", "sarif"])
@pytest.mark.parametrize("of", [1, 3, 8, 20])
def test_shards_make_up_the_run(project: Project, output_format: str, of: int) -> None:
    project.write(FILES)
    whole = project.run("-n", "--output-format", output_format)
    assert len(json.loads(whole.out)) > 2 or '"results"' in whole.out
    shards(project, of, output_format)
    merged = project.run("merge", *reversed(outputs(of)))
    assert ended(merged) == (1, whole.out, "")
    assert project.run("merge", *outputs(of), "-o", "merged").out == ""
    assert project.read("merged") == whole.out


def files_of(project: Project, number: int, of: int, *words: str) -> list[str]:
    ran = project.run("--show-files", "--shard", f"{number}/{of}", *words)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.splitlines()


def test_each_file_is_in_one_shard_and_what_imports_joins_is_in_one(project: Project) -> None:
    project.write(FILES)
    parts = [files_of(project, number, 3) for number in range(1, 4)]
    every = sorted(name for part in parts for name in part)
    assert every == sorted(name for name in FILES if name.endswith((".py", ".ipynb")))
    assert [files_of(project, number, 3) for number in range(1, 4)] == parts
    (package,) = [part for part in parts if "pkg/one.py" in part]
    assert {"pkg/two.py", "pkg/three.py"} <= set(package)


def test_shards_are_equal_in_bytes_and_a_component_that_is_too_large_is_cut(
    project: Project,
) -> None:
    project.write({f"p/m{i:02}.py": f"from p import m00\n{BAD_DEVICE * 20}" for i in range(40)})
    project.write({f"alone{i}.py": BAD_DEVICE for i in range(8)})
    sizes = []
    for number in range(1, 5):
        files = files_of(project, number, 4)
        sizes.append(sum((project.folder / name).stat().st_size for name in files))
    assert max(sizes) < 1.2 * min(sizes)


def test_costs_take_the_place_of_bytes(project: Project) -> None:
    project.write({f"m{i}.py": BAD_DEVICE for i in range(9)})
    project.write({"costs.json": json.dumps({f"m{i}.py": 80 if i == 3 else 10 for i in range(9)})})
    parts = [files_of(project, number, 2, "--costs", "costs.json") for number in (1, 2)]
    assert ["m3.py"] in parts
    assert sum(map(len, parts)) == 9


def test_what_files_took_is_stored_and_kept_while_it_is_known(project: Project) -> None:
    project.write({"sub/a.py": LOAD, "b.py": CLEAN, "c.py": CLEAN})
    project.run("--store-costs", "costs.json")
    first = json.loads(project.read("costs.json"))
    assert list(first) == ["b.py", "c.py", "sub/a.py"]
    assert all(0 < cost < 60 for cost in first.values())
    (project.folder / "c.py").unlink()
    project.write({"b.py": LOAD})
    project.run("--store-costs", "costs.json")
    second = json.loads(project.read("costs.json"))
    assert list(second) == ["b.py", "sub/a.py"]
    assert second["sub/a.py"] == first["sub/a.py"]
    assert second["b.py"] != first["b.py"]


def test_merging_ends_as_the_run_would_have(project: Project) -> None:
    project.write({**FILES, "broken.py": "def f(:\n"})
    whole = project.run("-n", "--output-format=json")
    assert whole.code == 2
    codes = [ran.code for ran in shards(project, 3, "json")]
    assert sorted(codes)[-1] == 2
    assert codes.count(2) == 1
    assert project.run("merge", *outputs(3)) == whole
    shards(project, 3, "json", "--fail-on=never", "--exclude=broken.py")
    assert project.run("merge", *outputs(3)).code == 0


def test_what_could_not_be_done_is_told_once(project: Project) -> None:
    project.write({**FILES, "dangling.py": ""})
    (project.folder / "dangling.py").unlink()
    (project.folder / "dangling.py").symlink_to("nowhere")
    for output_format in ("json", "sarif"):
        whole = project.run("-n", "--output-format", output_format)
        assert whole.err.count("dangling.py") == 1
        shards(project, 3, output_format)
        assert project.run("merge", *outputs(3)) == whole


def test_a_missing_shard_is_named(project: Project) -> None:
    project.write(FILES)
    shards(project, 4, "json")
    ran = project.run("merge", "1.out", "3.out")
    assert ended(ran) == (2, "", "devlint: shards 2, 4 of 4 are missing\n")
    ran = project.run("merge", "1.out", "3.out", "4.out")
    assert ran.err == "devlint: shard 2 of 4 is missing\n"


@pytest.mark.parametrize(
    "change",
    [
        ("file", "other/clean.py", CLEAN + "x = 1\n"),
        ("file", "new.py", CLEAN),
        ("settings", "pyproject.toml", "[tool.devlint]\nignore = ['DEV304']\n"),
    ],
    ids=["another content", "another file", "other settings"],
)
def test_shards_of_different_runs_are_not_joined(
    project: Project, change: tuple[str, str, str]
) -> None:
    project.write(FILES)
    shards(project, 2, "json")
    kept = project.read("1.out")
    project.write({change[1]: change[2]})
    shards(project, 2, "json")
    project.write({"1.out": kept})
    ran = project.run("merge", "1.out", "2.out")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("devlint: 1.out and 2.out are shards of different runs: ")


def test_one_shard_counts_once_and_formats_are_not_mixed(project: Project) -> None:
    project.write(FILES)
    shards(project, 2, "json")
    ran = project.run("merge", "1.out", "2.out", "1.out")
    assert ended(ran) == (2, "", "devlint: 1.out and 1.out: both are shard 1\n")
    first = project.read("1.out")
    shards(project, 2, "sarif")
    project.write({"1.out": first})
    ran = project.run("merge", "1.out", "2.out")
    assert ended(ran) == (2, "", "devlint: 1.out and 2.out: one is SARIF, and the other isn't\n")


NO_SHARDS = {
    "empty": "",
    "an array, as of a whole run": "[]",
    "nested": "[" * 100_000,
    "no number": '{"shard": {"number": "1", "of": 1, "partition": "", "exit_code": 0, '
    '"failures": []}, "findings": []}',
    "too many": '{"shard": {"number": 1, "of": 99999999999, "partition": "", "exit_code": 0, '
    '"failures": []}, "findings": []}',
    "no findings": '{"shard": {"number": 1, "of": 1, "partition": "", "exit_code": 0, '
    '"failures": []}, "findings": [1]}',
    "no result": '{"runs": [{"properties": {"shard": {"number": 1, "of": 1, "partition": "", '
    '"exit_code": 0, "failures": []}}, "results": [{}]}]}',
    "half a SARIF": '{"runs": [{"properties": {"shard": {"number": 1, "of": 1, "partition": "", '
    '"exit_code": 0, "failures": []}}, "results": []}]}',
}


@pytest.mark.parametrize("text", NO_SHARDS.values(), ids=NO_SHARDS)
def test_what_no_shard_has_written_is_one_clear_error(project: Project, text: str) -> None:
    project.write({"x.json": text})
    ran = project.run("merge", "x.json")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("devlint: ")


def test_merge_needs_files_that_are_there(project: Project) -> None:
    assert project.run("merge").err == "devlint: name the files that the shards have written\n"
    ran = project.run("merge", "nowhere.json")
    assert ended(ran) == (2, "", "devlint: nowhere.json: No such file or directory\n")


def test_no_file_of_a_folder_makes_a_listing_of_it_a_merge(project: Project) -> None:
    project.write(FILES)
    shards(project, 1, "json", "--ignore=ALL")
    project.write({"merge": project.read("1.out")})
    ran = project.run("merge", "1.out")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("devlint: `merge` is here: ")


@pytest.mark.parametrize(
    "value", ["0/3", "4/3", "3", "a/b", "1/99999", "-1/2", "1/2/3", "/", "²/3"]
)
def test_what_is_no_shard_is_refused(project: Project, value: str) -> None:
    project.write(FILES)
    ran = project.run(f"--shard={value}")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "--shard" in ran.err


@pytest.mark.parametrize(
    "word", ["--fix", "--diff", "--add-ignore", "--store-costs=c", "--watch", "-"]
)
def test_what_needs_the_whole_run_does_not_go_with_a_shard(project: Project, word: str) -> None:
    project.write(FILES)
    ran = project.run("--shard=1/2", word)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert not (project.folder / "c").exists()


@pytest.mark.parametrize("text", ["[]", "x", '{"a.py": "1"}', '{"a.py": -1}', '{"a.py": NaN}'])
def test_costs_that_are_none_are_refused(project: Project, text: str) -> None:
    project.write({**FILES, "costs.json": text})
    for words in (("--shard=1/2", "--costs=costs.json"), ("--store-costs=costs.json",)):
        ran = project.run(*words)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert ran.err.startswith("devlint: costs.json: ")
    assert project.read("costs.json") == text
    ran = project.run("--shard=1/2", "--costs=nowhere")
    assert ran.err == "devlint: nowhere: can't be read: No such file or directory\n"
    assert project.run("--costs=costs.json").err == "devlint: --costs needs --shard\n"


def test_costs_are_not_written_through_a_link(project: Project) -> None:
    project.write({**FILES, "precious": "x"})
    Path("costs.json").symlink_to("precious")
    assert project.run("--store-costs=costs.json").code == 2
    assert project.read("precious") == "x"
