"""`--since`: only what an older revision of the repository doesn't have."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import cells
import pytest
from driver.conftest import CLEAN, Project, Ran
from repository import Repository

HEAD = "import torch\n\n"
OLD = f'{HEAD}d = torch.device("gpu")\n'
"""One finding, DEV304."""
NEW = f'{OLD}e = torch.device("gpu2")\n'
"""The same, and another one below."""
MOVED = """import torch


def step(model, batch):
    batch = batch.to("cuda")
    return model(batch)


def main(loader):
    model = torch.nn.Linear(2, 2).cuda()
    for batch in loader:
        step(model, batch)
"""
LOST = MOVED.replace('    batch = batch.to("cuda")\n', "    batch = batch.cpu()\n")


class History:
    """A project in a repository, with the current folder in it."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.project = project
        self.folder = folder
        self.repository = Repository(folder)
        self.git = self.repository.git
        self.commit = self.repository.commit
        os.chdir(folder)

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def since(self, revision: str, *args: str) -> list[str]:
        """`path:row` of each finding that is new."""
        ran = self.project.concise(f"--since={revision}", *args)
        assert ran.err == "", ran.err
        return [":".join(line.split(":")[:2]) for line in ran.out.splitlines()]

    def run(self, revision: str, *args: str) -> Ran:
        return self.project.concise(f"--since={revision}", *args)


@pytest.fixture
def history(project: Project, tmp_path: Path) -> History:
    return History(project, tmp_path / "repo")


# --- what is new -----------------------------------------------------------------------------


def test_only_findings_that_the_revision_does_not_have(history: History) -> None:
    history.commit({"a.py": OLD, "b.py": OLD})
    history.commit({"b.py": NEW, "c.py": OLD})
    assert history.since("HEAD~1") == ["b.py:4", "c.py:3"]
    assert history.run("HEAD~1").code == 1
    ran = history.run("HEAD")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_moved_lines_and_another_indentation_make_nothing_new(history: History) -> None:
    history.commit({"a.py": OLD})
    history.write({"a.py": f'{HEAD}import os\n\nif os:\n    d = torch.device(\n        "gpu")\n'})
    assert history.since("HEAD") == []


def test_a_finding_is_new_though_its_own_line_is_not(history: History) -> None:
    made = HEAD + 'm = torch.nn.Linear(2, 2).to("cuda")\nx = torch.ones(2)\n'
    history.commit({"a.py": made + 'x = x.to("cuda")\ny = m(x)\n'})
    assert history.since("HEAD") == []
    history.write({"a.py": made + "y = m(x)\n"})
    assert history.since("HEAD") == ["a.py:5"]


def test_a_finding_is_new_that_another_file_brings_about(history: History) -> None:
    use = "import torch\nfrom helper import place\n\nm = torch.nn.Linear(2, 2).cuda()\n"
    use += "y = m(place(torch.ones(2)))\n"
    helper = "import torch\n\ndef place(x):\n    return {}\n"
    history.commit({"use.py": use, "helper.py": helper.format("x.cuda()")})
    assert "use.py DEV201" not in history.project.found()
    history.write({"helper.py": helper.format("torch.ones(2)")})
    assert "use.py DEV201" in history.project.found()
    assert history.since("HEAD") == ["use.py:5"]
    history.commit({})
    assert history.since("HEAD") == []


def test_of_those_alike_the_one_that_was_added(history: History) -> None:
    body = "def {}():\n    return torch.device('gpu')\n\n\n"
    old = HEAD + body.format("one") + body.format("two")
    history.commit({"a.py": old})
    history.write({"a.py": HEAD + body.format("zero") + body.format("one") + body.format("two")})
    assert history.since("HEAD") == ["a.py:4"]
    history.write({"a.py": HEAD + body.format("one") + body.format("mid") + body.format("two")})
    assert history.since("HEAD") == ["a.py:8"]


def test_what_was_told_once_counts_once(history: History) -> None:
    line = "torch.device('gpu')\n"
    history.commit({"a.py": HEAD + line})
    history.write({"a.py": HEAD + 3 * line})
    assert len(history.since("HEAD")) == 2


def test_a_file_that_was_broken_has_told_nothing(history: History) -> None:
    history.commit({"a.py": f"{OLD}def f(:\n"})
    history.write({"a.py": OLD})
    assert history.since("HEAD") == ["a.py:3"]


def test_what_can_not_be_checked_is_always_told(history: History) -> None:
    history.commit({"a.py": "def f(:\n", "b.py": OLD})
    ran = history.run("HEAD")
    assert ran.code == 2
    assert ran.out.startswith("a.py:1:7: DEV001")
    assert "b.py" not in ran.out


def test_a_suppression_that_was_taken_away(history: History) -> None:
    history.commit({"a.py": OLD.replace(")\n", ")  # devlint: ignore[DEV304]\n")})
    history.write({"a.py": OLD})
    assert history.since("HEAD") == ["a.py:3"]


# --- files that come, go and move ------------------------------------------------------------


def test_a_renamed_file_has_nothing_new(history: History) -> None:
    history.commit({"lib/a.py": OLD, "lib/__init__.py": "", "lib/b.py": CLEAN})
    history.git("mv", "lib/a.py", "lib/renamed.py")
    assert history.since("HEAD") == []
    (history.folder / "src").mkdir()
    history.git("mv", "lib", "src/lib")
    assert history.since("HEAD") == []
    history.commit({})
    assert history.since("HEAD~1") == []


def test_a_file_that_was_moved_and_edited(history: History) -> None:
    rest = "".join(f"x{number} = {number}\n" for number in range(20))
    history.commit({"a.py": OLD + rest})
    history.git("rm", "-q", "a.py")
    history.write({"deep/b.py": NEW + rest, "other.py": HEAD + 'f = torch.device("gpu")\n'})
    assert history.since("HEAD") == ["deep/b.py:4", "other.py:3"]


def test_a_copy_is_new(history: History) -> None:
    history.commit({"a.py": OLD})
    history.write({"b.py": OLD})
    assert history.since("HEAD") == ["b.py:3"]


def test_deleted_files_do_no_harm(history: History) -> None:
    history.commit({"a.py": OLD, "b.py": OLD})
    history.git("rm", "-q", "a.py")
    assert history.since("HEAD") == []
    (history.folder / "b.py").unlink()
    history.write({"c.py": CLEAN})
    assert history.since("HEAD") == []


def test_untracked_files_and_a_dirty_tree_count_as_they_are(history: History) -> None:
    history.commit({"a.py": CLEAN})
    history.write({"a.py": OLD})
    history.git("add", "a.py")
    history.write({"a.py": NEW, "untracked.py": OLD})
    assert history.since("HEAD") == ["a.py:3", "a.py:4", "untracked.py:3"]


def test_a_link_to_another_file_of_the_repository(history: History) -> None:
    helper = "import torch\n\ndef place(x):\n    return torch.ones(2)\n"
    use = "import torch\nfrom linked import place\n\nm = torch.nn.Linear(2, 2).cuda()\n"
    use += "y = m(place(torch.ones(2)))\n"
    history.write({"common/helper.py": helper})
    (history.folder / "linked.py").symlink_to("common/helper.py")
    history.commit({"use.py": use})
    assert "use.py DEV201" in history.project.found()
    history.write({"common/helper.py": helper + "\n\nz = 1\n"})  # so that it is linted again
    assert history.since("HEAD") == []


@pytest.mark.parametrize(
    "name",
    [
        "with blank.py",
        "new\nline.py",
        "quote'\".py",
        "-dash.py",
        "ünï.py",
        "\udcff.py",
        "#a*[?].py",
    ],
)
def test_odd_names(history: History, name: str) -> None:
    history.commit({name: OLD, "b.py": OLD})
    history.write({name: NEW})
    ran = history.run("HEAD")
    assert (ran.code, len(ran.out.splitlines())) == (1, 1)
    (history.folder / name).rename("plain.py")
    assert history.since("HEAD") == ["plain.py:4"]


# --- which revision --------------------------------------------------------------------------


def test_a_branch_and_its_base(history: History) -> None:
    history.commit({"a.py": NEW, "b.py": CLEAN})
    history.git("branch", "-M", "main")
    history.git("checkout", "-q", "-b", "topic")
    history.commit({"b.py": OLD})
    history.git("checkout", "-q", "main")
    history.commit({"a.py": OLD})  # repaired on main only
    history.git("checkout", "-q", "topic")
    assert history.since("main") == ["a.py:4", "b.py:3"]
    assert history.since("main...") == ["b.py:3"]
    history.git("merge", "-q", "--no-edit", "main")
    assert history.since("main") == history.since("main...") == ["b.py:3"]
    assert history.since("HEAD^1") == []
    assert history.since("HEAD^2") == ["b.py:3"]


def test_names_of_revisions(history: History) -> None:
    first = history.commit({"a.py": CLEAN})
    history.git("tag", "-a", "-m", "tagged", "v1")
    history.commit({"a.py": OLD})
    history.git("checkout", "-q", "--detach")
    for name in (first, first[:10], "v1", "HEAD~1", "HEAD^", "v1..."):
        assert history.since(name) == ["a.py:3"]
    assert history.since("HEAD...") == []


UNKNOWN = ("nope", "", "HEAD~9", "HEAD:a.py", "--all", "-x", "HEAD..main", "nope...", "HEAD^{tree}")


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_revision(history: History, name: str) -> None:
    history.commit({"a.py": OLD})
    ran = history.run(name)
    word = name.removesuffix("...")
    text = f"devlint: --since: there is no commit `{word}` in {history.folder}\n"
    assert (ran.code, ran.out, ran.err) == (2, "", text)


def test_no_common_history(history: History) -> None:
    history.commit({"a.py": OLD})
    history.git("checkout", "-q", "--orphan", "other")
    history.commit({"a.py": NEW})
    ran = history.run("HEAD@{1}...")
    assert ran.code == 2
    history.git("branch", "first", history.git("rev-list", "--max-parents=0", "--all").split()[0])
    heads = history.git("rev-list", "--all").split()
    other = next(each for each in heads if each != history.git("rev-parse", "HEAD"))
    ran = history.run(f"{other}...")
    assert (ran.code, ran.err) == (
        2,
        f"devlint: --since: `{other}...`: it has no commit in common with HEAD\n",
    )


def test_a_repository_without_a_commit(history: History) -> None:
    history.write({"a.py": OLD})
    text = f"devlint: --since: there is no commit `HEAD` in {history.folder}\n"
    ran = history.run("HEAD")
    assert (ran.code, ran.err) == (2, text)


# --- which repository ------------------------------------------------------------------------


def test_no_repository(project: Project) -> None:
    project.write({"a.py": OLD})
    ran = project.concise("--since=HEAD")
    text = "devlint: --since: this is not a git repository: there is no older revision\n"
    assert (ran.code, ran.out, ran.err) == (2, "", text)


def test_a_path_outside_of_the_repository(history: History) -> None:
    history.commit({"a.py": OLD})
    (history.folder.parent / "outside.py").write_text(OLD)
    for path in ("../outside.py", ".."):
        ran = history.run("HEAD", "a.py", path)
        text = f"devlint: --since: {path} is outside of the repository {history.folder}\n"
        assert (ran.code, ran.out, ran.err) == (2, "", text)


def test_the_repository_of_the_paths_where_the_current_folder_is_in_none(history: History) -> None:
    history.commit({"a.py": OLD})
    history.commit({"a.py": NEW})
    os.chdir(history.folder.parent)
    assert history.since("HEAD~1", "repo") == ["repo/a.py:4"]
    (history.folder.parent / "link").symlink_to("repo")
    assert history.since("HEAD~1", "link") == ["link/a.py:4"]


def test_a_folder_and_single_files(history: History) -> None:
    history.commit({"src/a.py": OLD, "src/b.py": OLD, "c.py": OLD})
    history.commit({"src/a.py": NEW, "src/b.py": NEW, "c.py": NEW})
    assert history.since("HEAD~1", "src") == ["src/a.py:4", "src/b.py:4"]
    assert history.since("HEAD~1", "src/b.py", "c.py") == ["c.py:4", "src/b.py:4"]
    os.chdir("src")
    assert history.since("HEAD~1") == ["a.py:4", "b.py:4"]
    assert history.since("HEAD~1", "..") == [f"{history.folder}/c.py:4", "a.py:4", "b.py:4"]


def test_a_path_that_is_missing(history: History) -> None:
    history.commit({"a.py": OLD})
    ran = history.run("HEAD", "a.py", "nope.py")
    assert (ran.code, ran.out, ran.err) == (2, "", "devlint: nope.py: No such file or directory\n")


def test_a_second_worktree_of_a_bare_repository(history: History) -> None:
    history.commit({"a.py": OLD})
    history.git("branch", "-M", "main")
    bare = history.folder.parent / "bare.git"
    tree = history.folder.parent / "tree"
    history.git("clone", "-q", "--bare", ".", str(bare))
    history.git("--git-dir", str(bare), "worktree", "add", "-q", "-b", "topic", str(tree), "main")
    os.chdir(tree)
    Path("a.py").write_text(NEW)
    assert history.since("main") == history.since("HEAD") == ["a.py:4"]
    os.chdir(bare)
    ran = history.run("main")
    assert (ran.code, ran.err.startswith("devlint: --since: this is not a git repository")) == (
        2,
        True,
    )


def test_a_repository_of_longer_names(project: Project, tmp_path: Path) -> None:
    history = History(project, tmp_path / "repo")
    shutil.rmtree(history.folder / ".git")
    history.git("init", "--quiet", "--object-format=sha256")
    assert len(history.commit({"a.py": OLD})) == 64
    history.write({"a.py": NEW})
    history.git("gc", "--quiet")
    assert history.since("HEAD") == ["a.py:4"]


def test_a_submodule(history: History, tmp_path: Path) -> None:
    inner = Repository(tmp_path / "inner")
    inner.commit({"lib.py": OLD})
    history.commit({"a.py": OLD})
    allowed = ("-c", "protocol.file.allow=always")
    history.git(*allowed, "submodule", "--quiet", "add", str(inner.folder), "sub")
    history.commit({})
    assert history.since("HEAD") == []
    (history.folder / "sub/lib.py").write_text(NEW)
    assert history.since("HEAD") == ["sub/lib.py:4"]
    assert history.since("HEAD", "sub") == ["sub/lib.py:4"]
    os.chdir("sub")
    assert history.since("HEAD") == ["lib.py:4"]
    os.chdir("..")
    history.git("-C", "sub", "commit", "--quiet", "--all", "--message", "go on")
    history.commit({})
    assert history.since("HEAD") == []
    assert history.since("HEAD~1") == ["sub/lib.py:4"]


def test_a_submodule_that_lacks_its_older_commit(history: History, tmp_path: Path) -> None:
    inner = Repository(tmp_path / "inner")
    first = inner.commit({"lib.py": OLD})
    history.commit({"a.py": OLD})
    history.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add",
                str(inner.folder), "sub")  # fmt: skip
    history.commit({})
    index = f"160000,{'1' * 40},sub"
    history.git("update-index", "--cacheinfo", index)
    history.git("commit", "--quiet", "--message", "Go nowhere")
    assert history.git("-C", "sub", "rev-parse", "HEAD") == first
    ran = history.project.run("--no-cache", "--output-format=concise", "--since=HEAD")
    assert ran.out.startswith("sub/lib.py:3")
    assert ran.err == (
        "devlint: warning: the commit that `HEAD` has of the submodule sub isn't here: all of its "
        "findings count as new\n"
    )


def test_a_shallow_clone(history: History) -> None:
    history.commit({"a.py": CLEAN})
    history.git("branch", "-M", "main")
    history.commit({"a.py": OLD})
    history.commit({"a.py": NEW})
    clone = history.folder.parent / "clone"
    history.git("clone", "-q", "--depth=2", history.folder.as_uri(), str(clone))
    os.chdir(clone)
    assert history.since("HEAD~1") == history.since("HEAD^...") == ["a.py:4"]
    ran = history.run("HEAD~2")
    assert (ran.code, ran.err) == (
        2,
        f"devlint: --since: there is no commit `HEAD~2` in {clone}: it is a shallow clone, so "
        "fetch it first\n",
    )


def test_a_shallow_clone_that_lacks_the_common_commit(history: History) -> None:
    history.commit({"a.py": CLEAN})
    history.git("branch", "-M", "main")
    history.git("checkout", "-q", "-b", "topic")
    history.commit({"a.py": OLD})
    history.git("checkout", "-q", "main")
    history.commit({"b.py": CLEAN})
    clone = history.folder.parent / "clone"
    arguments = ("--depth=1", "--no-single-branch", "--branch=topic")
    history.git("clone", "-q", *arguments, history.folder.as_uri(), str(clone))
    os.chdir(clone)
    assert history.since("origin/main") == ["a.py:3"]
    ran = history.run("origin/main...")
    assert (ran.code, ran.err) == (
        2,
        "devlint: --since: `origin/main...`: it has no commit in common with HEAD: it is a shallow "
        "clone, so fetch more of its history\n",
    )


def test_a_partial_clone_says_what_it_lacks(history: History) -> None:
    history.commit({"a.py": OLD, "b.py": CLEAN})
    history.git("branch", "-M", "main")
    history.commit({"a.py": NEW})
    history.git("config", "uploadpack.allowFilter", "true")
    clone = history.folder.parent / "clone"
    history.git("clone", "-q", "--filter=blob:none", history.folder.as_uri(), str(clone))
    os.chdir(clone)
    assert history.since("HEAD") == []
    ran = history.run("HEAD~1")
    assert (ran.code, ran.err) == (
        2,
        "devlint: --since: the clone is a partial one and lacks files that `HEAD~1` has: "
        "`git diff --stat HEAD~1` fetches them\n",
    )
    history.git("-C", str(clone), "diff", "--stat", "HEAD~1")
    assert history.since("HEAD~1") == ["a.py:4"]


def test_a_sparse_work_tree(history: History) -> None:
    use = "import torch\nfrom far.helper import place\n\nm = torch.nn.Linear(2, 2).cuda()\n"
    use += "y = m(place(torch.ones(2)))\nd = torch.device('gpu')\n"
    files = {"far/__init__.py": "", "far/helper.py": "def place(x):\n    return x.cuda()\n"}
    history.commit({"near/use.py": use, **files, "far/old.py": OLD})
    history.git("sparse-checkout", "set", "near")
    assert not (history.folder / "far").exists()
    assert history.since("HEAD") == []
    assert linted_again(history) == 0
    history.write({"near/use.py": use + "e = torch.device('gpu2')\n"})
    assert history.since("HEAD") == ["near/use.py:7"]


def test_a_work_tree_whose_lines_end_otherwise(history: History) -> None:
    history.commit({"a.py": OLD})
    history.write({"a.py": NEW.replace("\n", "\r\n")})
    assert history.since("HEAD") == ["a.py:4"]
    (history.folder / "a.py").rename(history.folder / "b.py")
    assert history.since("HEAD") == ["b.py:4"]


def test_the_environment_does_not_redirect(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.commit({"a.py": OLD})
    other = Repository(history.folder.parent / "other")
    other.commit({"b.py": CLEAN})
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.folder))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "/nowhere")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(history.folder.parent))
    assert history.since("HEAD") == []


# --- git itself ------------------------------------------------------------------------------


def test_no_git(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    history.commit({"a.py": OLD})
    own = history.folder / "bin"
    own.mkdir()
    found = shutil.which("git")
    assert found is not None
    (own / "git").symlink_to(found)
    outside = history.folder.parent / "links"
    outside.symlink_to(own)
    monkeypatch.setenv("PATH", os.pathsep.join(["bin", "", str(own), str(outside), "/nowhere"]))
    ran = history.run("HEAD")
    text = "devlint: --since: there is no git on PATH, outside of what is linted\n"
    assert (ran.code, ran.out, ran.err) == (2, "", text)


def test_a_git_that_can_not_be_run(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    history.commit({"a.py": OLD})
    folder = history.folder.parent / "tools"
    folder.mkdir()
    (folder / "git").write_text("#!/nowhere/sh\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    ran = history.run("HEAD")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"devlint: --since: {folder}/git can't be run: No such file or directory\n"


def test_a_broken_repository(history: History) -> None:
    history.commit({"a.py": OLD})
    blob = history.git("rev-parse", "HEAD:a.py")
    path = history.folder / ".git/objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    ran = history.run("HEAD")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("devlint: --since: ")
    shutil.rmtree(history.folder / ".git")
    (history.folder / ".git").write_text("gitdir: nowhere\n")
    ran = history.run("HEAD")
    text = f"{history.folder} is not a git repository: its `.git` leads to none"
    assert (ran.code, ran.err) == (2, f"devlint: --since: {text}\n")


# --- settings --------------------------------------------------------------------------------


def test_the_present_settings_count_for_both(history: History) -> None:
    history.commit(
        {"a.py": OLD, "area/b.py": OLD, "pyproject.toml": '[tool.devlint]\nignore=["DEV3"]\n'}
    )
    history.write({"pyproject.toml": "[tool.devlint]\n"})
    assert history.since("HEAD") == []
    history.write({"area/b.py": NEW})
    ignores = "[tool.devlint.per-file-ignores]\n'/area/**' = ['DEV304']\n"
    history.write({"pyproject.toml": ignores})
    assert history.since("HEAD") == []
    history.write({"pyproject.toml": "", "moved/b.py": NEW})
    (history.folder / "area/b.py").unlink()
    assert history.since("HEAD") == ["moved/b.py:4"]


def test_settings_by_path_count_where_the_file_was(history: History) -> None:
    ignores = "[tool.devlint.per-file-ignores]\n'old/**' = ['DEV304']\n"
    history.commit({"pyproject.toml": ignores, "old/a.py": OLD})
    history.git("mv", "old", "new")
    assert history.since("HEAD") == ["new/a.py:3"]
    assert history.since("HEAD", "--config=per-file-ignores={}") == []


def test_a_file_that_was_left_out_has_told_nothing(history: History) -> None:
    history.commit({"build/a.py": OLD, "c.py": CLEAN})
    history.git("mv", "build/a.py", "b.py")
    assert history.since("HEAD") == ["b.py:3"]
    assert history.since("HEAD", "b.py") == []  # who names a file wants it, excluded or not
    assert history.since("HEAD", "--force-exclude", "b.py") == ["b.py:3"]


def test_a_file_that_had_another_kind_of_name(history: History) -> None:
    history.commit({"old_a.py": OLD, "devlint.toml": 'include = ["new_*.py"]\n'})
    history.git("mv", "old_a.py", "new_a.py")
    assert history.since("HEAD") == ["new_a.py:3"]
    assert history.since("HEAD", "--include=*.py") == []


def test_what_the_older_tree_ignored(history: History) -> None:
    history.write({"a.py": OLD, ".gitignore": "a.py\n"})
    history.git("add", "--force", "a.py", ".gitignore")
    history.git("commit", "--quiet", "--message", "Ignore")
    assert history.since("HEAD") == []
    (history.folder / ".gitignore").unlink()
    assert history.since("HEAD") == ["a.py:3"]
    assert history.since("HEAD", "a.py") == []
    assert history.since("HEAD", "--no-respect-gitignore") == []


def test_it_is_no_key_of_a_configuration(history: History) -> None:
    history.commit({"a.py": OLD, "devlint.toml": 'since = "HEAD"\n'})
    ran = history.project.concise()
    assert ran.code == 2
    assert ran.err.startswith("devlint: devlint.toml: unknown key `since`")


# --- the rest of the run ---------------------------------------------------------------------


def test_the_last_line_counts_what_is_left_out(history: History) -> None:
    history.commit({"a.py": NEW, "b.py": OLD})
    history.write({"b.py": NEW})
    found = "Found 1 error in 1 file."
    closing = "3 findings that `HEAD` has too aren't shown.\n"
    for output_format in ("full", "concise", "grouped"):
        ran = history.project.run("--since=HEAD", f"--output-format={output_format}")
        assert ran.out.endswith(f"{found} {closing}")
        assert ran.err == ""
    history.commit({})
    ran = history.project.run("--since=HEAD~1", "a.py")
    assert ran.out == (
        "Found nothing new in 1 file. 2 findings that `HEAD~1` has too aren't shown.\n"
    )
    history.write({"a.py": OLD})
    assert (
        "1 finding that `HEAD~1` has too isn't shown."
        in history.project.run("--since=HEAD~1", "a.py").out
    )


@pytest.mark.parametrize("words", [["--statistics"], ["--output-format=json"], ["--diff"]])
def test_where_there_is_no_last_line_it_is_said_beside(history: History, words: list[str]) -> None:
    history.commit({"a.py": OLD})
    ran = history.project.run("--since=HEAD", *words)
    assert ran.err.startswith("devlint: 1 finding that `HEAD` has too isn't shown.\n")
    assert history.project.run("--since=HEAD", "--quiet", *words).err == ""


def test_every_format_has_the_new_findings_only(history: History) -> None:
    history.commit({"a.py": NEW})
    history.write({"a.py": NEW + 'f = torch.device("gpu3")\n'})
    for name in (
        "json",
        "json-lines",
        "sarif",
        "github",
        "gitlab",
        "junit",
        "pylint",
        "azure",
        "rdjson",
    ):
        out = history.project.run("--since=HEAD", f"--output-format={name}").out
        assert "gpu3" in out, name
        assert '"gpu2"' not in out.replace("\\", ""), name
    ran = history.project.run("--since=HEAD", "--statistics")
    assert ran.out == "1  DEV304  [ ] invalid-device\n"
    assert history.project.run("--since=HEAD", "--exit-zero").code == 0


def test_fingerprints_are_those_of_a_whole_run(history: History) -> None:
    line = 'torch.device("gpu")\n'
    history.commit({"a.py": HEAD + line})
    history.write({"a.py": HEAD + 2 * line})

    def marks(*args: str) -> list[str]:
        out = history.project.run("--output-format=gitlab", *args).out
        return [issue["fingerprint"] for issue in json.loads(out)]

    whole, new = marks(), marks("--since=HEAD")
    assert len(new) == 1
    assert new[0] == whole[1]


FIXABLE = (
    "import torch\n\n\ndef f(device):\n    x = torch.ones(2)\n    x.to(device)\n    return x\n"
)


def test_only_new_findings_are_fixed(history: History) -> None:
    history.commit({"a.py": FIXABLE})
    both = FIXABLE + FIXABLE.replace("import torch\n", "").replace("f(device)", "g(device)")
    history.write({"a.py": both})
    ran = history.project.run("--since=HEAD", "--diff")
    assert ran.out.count("\n+    x = x.to(device)") == 1
    assert ran.err.endswith("Would fix 1 finding.\n")
    ran = history.project.run("--since=HEAD", "--fix", "--no-cache")
    assert (ran.code, ran.out) == (
        0,
        "Fixed 1 finding. Found nothing new in 1 file. "
        "1 finding that `HEAD` has too isn't shown.\n",
    )
    fixed = (history.folder / "a.py").read_text()
    assert fixed.startswith(FIXABLE)
    assert fixed.count("x = x.to(device)") == 1


def test_a_baseline_beside(history: History) -> None:
    line = 'torch.device("gpu")\n'
    history.commit({"a.py": HEAD + line})
    assert history.run("HEAD", "--baseline=base.json").err == (
        "devlint: base.json: there is no such baseline: write it without --since\n"
    )
    assert not (history.folder / "base.json").exists()
    history.project.concise("--baseline=base.json")
    history.write({"a.py": HEAD + 2 * line})
    assert len(history.since("HEAD", "--baseline=base.json")) == 1
    (history.folder / "base.json").unlink()
    history.project.concise("--baseline=base.json")
    assert history.since("HEAD", "--baseline=base.json") == []


def test_what_does_not_go_together(history: History) -> None:
    history.commit({"a.py": OLD})
    ran = history.run("HEAD", "--add-ignore")
    text = "--add-ignore and --since don't go together: give one of them"
    assert (ran.code, ran.err) == (2, f"devlint: {text}\n")
    ran = history.run("HEAD", "-")
    assert (ran.code, ran.err) == (2, "devlint: --since needs files, not standard input\n")


def test_no_file_is_linted_again_that_is_what_it_was(history: History) -> None:
    use = "import torch\nfrom helper import place\n\nm = torch.nn.Linear(2, 2).cuda()\n"
    use += "y = m(place(torch.ones(2)))\n"
    helper = "def place(x):\n    return x.cpu()\n"
    files = {"use.py": use, "helper.py": helper, "a.py": OLD, "pkg/b.py": OLD}
    history.commit({**files, "pkg/__init__.py": ""})

    assert linted_again(history) == 0
    assert linted_again(history) == 0  # from the cache
    history.write({"a.py": NEW})
    assert linted_again(history) == 1
    history.write({"helper.py": helper + "\n"})
    assert linted_again(history) == 2


def linted_again(history: History) -> int:
    """How many files were linted once more, as HEAD has them."""
    time.sleep(0.02)  # a file that was changed just now may change again without a sign of it
    ran = history.project.run("--since=HEAD", "--verbose")
    line = next(line for line in ran.err.splitlines() if "linted again" in line)
    return int(line.split()[1])


def test_nothing_is_left_behind(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    place = history.folder.parent / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    history.commit({"a.py": OLD})
    before = snapshot(history.folder)
    modes: list[int] = []
    made = os.mkdir

    def mkdir(path: str, mode: int = 0o777, **rest: int) -> None:
        made(path, mode, **rest)
        if Path(path).parent == place:
            modes.append(Path(path).stat().st_mode & 0o777)

    monkeypatch.setattr("os.mkdir", mkdir)
    history.write({"a.py": NEW})
    before = snapshot(history.folder)
    assert history.since("HEAD") == ["a.py:4"]
    assert modes == [0o700]
    assert list(place.iterdir()) == []
    assert snapshot(history.folder) == before


def snapshot(folder: Path) -> Sequence[tuple[str, float]]:
    return sorted((str(path), path.stat().st_mtime_ns) for path in folder.rglob("*"))


def test_it_is_a_command(history: History) -> None:
    history.commit({"a.py": OLD})
    history.write({"a.py": NEW})
    done = subprocess.run(
        history.project.command("--since", "HEAD", "--output-format=concise"),
        cwd=history.folder,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("a.py:4:18: DEV304")


# --- notebooks -------------------------------------------------------------------------------


def test_what_a_notebook_had_before_it_was_run_again_is_older(history: History) -> None:
    bad, more = cells.code(OLD), cells.code('e = torch.device("gpu2")')
    one, again = cells.code("x = 1", 1), cells.code("x = 1", 8)
    history.commit({"a.ipynb": cells.notebook(one, bad).decode()})
    history.commit({"a.ipynb": cells.notebook(cells.text(), again, bad, more).decode()})
    ran = history.run("HEAD~1")
    assert [line.split(": ")[0] for line in ran.out.splitlines()] == ["a.ipynb:cell 4:1:18"]
