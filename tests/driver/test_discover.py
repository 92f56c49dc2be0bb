"""Which files are linted."""

from __future__ import annotations

import os
import subprocess

import pytest
from driver.conftest import BAD_DEVICE, Project


def listed(project: Project, *args: str) -> list[str]:
    ran = project.run("--show-files", *args)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.split()


def files(*names: str) -> dict[str, str | bytes]:
    return dict.fromkeys(names, "x = 1\n")


def test_python_files_in_the_order_of_their_paths(project: Project) -> None:
    project.write(files("b.py", "a/z.pyi", "a/b/c.py", "a.py", "a/notes.txt", "a/py", "a/x.pyc"))
    assert listed(project) == ["a.py", "a/b/c.py", "a/z.pyi", "b.py"]


def test_no_path_stands_for_the_current_folder(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    assert project.found() == project.found(".") == ["a.py DEV304"]


def test_each_file_once(project: Project) -> None:
    project.write(files("p/a.py"))
    assert listed(project, "p", "p/a.py", ".", "./p/../p") == ["p/a.py"]


def test_a_named_file_needs_no_suffix(project: Project) -> None:
    project.write({"script": BAD_DEVICE})
    assert project.found(".") == []
    assert project.found("script") == ["script DEV304"]


def test_notebooks_are_found_but_not_their_checkpoints(project: Project) -> None:
    code = BAD_DEVICE.replace("\n", "\\n").replace('"', '\\"')
    cell = f'{{"cell_type": "code", "source": "{code}"}}'
    notebook = f'{{"cells": [{cell}]}}\n'
    project.write({"a.ipynb": notebook, ".ipynb_checkpoints/a-checkpoint.ipynb": notebook})
    assert project.found(".") == ["a.ipynb 1:3:18:"]


def test_files_elsewhere_have_absolute_paths(project: Project) -> None:
    project.write({"here/a.py": "", "there/b.py": BAD_DEVICE})
    os.chdir("here")
    assert project.found("../there") == [f"{project.folder}/there/b.py DEV304"]


def test_what_is_excluded_by_default(project: Project) -> None:
    kept = ["builder/a.py", "distance.py", "src/venvs/a.py"]
    left_out = [
        f"{folder}/a.py"
        for folder in (".git", ".venv", "venv", "build", "sub/dist", "node_modules", "__pycache__")
    ]
    project.write(files(*kept, *left_out))
    assert listed(project) == kept


def test_a_project_may_lie_in_a_folder_that_is_excluded_elsewhere(project: Project) -> None:
    project.write(files("build/project/a.py", "build/project/build/b.py"))
    os.chdir("build/project")
    assert listed(project) == ["a.py"]


EXCLUDES = {
    "name": ("gen", ["a.py", "sub/keep.py"]),
    "name of a file": ("keep.py", ["a.py", "gen/b.py", "sub/gen/c.py"]),
    "path": ("sub/gen", ["a.py", "gen/b.py", "sub/keep.py"]),
    "anchored": ("/gen", ["a.py", "sub/gen/c.py", "sub/keep.py"]),
    "glob": ("**/gen/*.py", ["a.py", "sub/keep.py"]),
    "star": ("*e*.py", ["a.py", "gen/b.py", "sub/gen/c.py"]),
    "list": ("gen,a.py", ["sub/keep.py"]),
    "relative": ("./sub", ["a.py", "gen/b.py"]),
}


@pytest.mark.parametrize(("pattern", "kept"), EXCLUDES.values(), ids=EXCLUDES)
@pytest.mark.parametrize("option", ["--exclude", "--extend-exclude"])
def test_excludes(project: Project, option: str, pattern: str, kept: list[str]) -> None:
    project.write(files("a.py", "gen/b.py", "sub/gen/c.py", "sub/keep.py"))
    assert listed(project, option, pattern) == kept


def test_exclude_replaces_the_defaults_and_extend_exclude_does_not(project: Project) -> None:
    project.write(files("build/a.py", "gen/b.py"))
    assert listed(project, "--exclude", "gen") == ["build/a.py"]
    assert listed(project, "--extend-exclude", "gen") == []


def test_absolute_patterns(project: Project) -> None:
    project.write(files("a.py", "gen/b.py"))
    assert listed(project, "--extend-exclude", f"{project.folder}/gen") == ["a.py"]


def test_patterns_of_a_folder_with_special_characters(project: Project) -> None:
    project.write({**files("we[i]rd*/a.py", "we[i]rd*/gen/b.py")})
    project.write({"we[i]rd*/devlint.toml": 'extend-exclude = ["gen"]\n'})
    assert listed(project) == ["we[i]rd*/a.py"]


def test_named_files_are_linted_though_excluded_unless_forced(project: Project) -> None:
    project.write(files("build/a.py", "sub/gen/b.py", "c.py"))
    named = ["build/a.py", "c.py", "sub/gen/b.py"]
    assert listed(project, "--extend-exclude", "gen", *named) == named
    assert listed(project, "--extend-exclude", "gen", "--force-exclude", *named) == ["c.py"]
    assert listed(project, "--force-exclude", "--no-force-exclude", *named) == named


def test_include(project: Project) -> None:
    project.write(files("a.py", "b.pyw", "c.txt"))
    assert listed(project, "--include", "*.pyw,c.txt") == ["b.pyw", "c.txt"]


@pytest.fixture
def repository(project: Project) -> Project:
    """A repository with ignore files in several places."""
    subprocess.run(["git", "init", "-q", "."], cwd=project.folder, check=True)
    project.write(
        {
            ".gitignore": "# comment\n/out/\n*_gen.py\n!keep_gen.py\n\n\\\n",
            ".git/info/exclude": "private.py\n",
            "pkg/.gitignore": "local.py\n!b_gen.py\n",
            **files(
                "a.py", "a_gen.py", "keep_gen.py", "out/x.py", "private.py", "pkg/out/y.py",
                "pkg/local.py", "pkg/b_gen.py", "pkg/sub/local.py", "pkg/sub/c_gen.py", "local.py",
            ),
        }
    )  # fmt: skip
    return project


def test_what_git_ignores_is_left_out(repository: Project) -> None:
    kept = ["a.py", "keep_gen.py", "local.py", "pkg/b_gen.py", "pkg/out/y.py"]
    assert listed(repository) == kept
    # git itself is the judge.
    command = ["git", "ls-files", "--others", "--exclude-standard", "*.py"]
    told = subprocess.run(command, cwd=repository.folder, capture_output=True, text=True)
    assert told.stdout.split() == kept


def test_ignore_files_above_the_path_hold_too(repository: Project) -> None:
    os.chdir(repository.folder / "pkg")
    assert listed(repository, "sub") == []
    assert listed(repository) == ["b_gen.py", "out/y.py"]


def test_no_respect_gitignore(repository: Project) -> None:
    assert "a_gen.py" in listed(repository, "--no-respect-gitignore")
    repository.write({"devlint.toml": "respect-gitignore = false\n"})
    assert "a_gen.py" in listed(repository)
    assert "a_gen.py" not in listed(repository, "--respect-gitignore")


def test_named_files_that_git_ignores(repository: Project) -> None:
    assert listed(repository, "a_gen.py") == ["a_gen.py"]
    assert listed(repository, "--force-exclude", "a_gen.py", "pkg/local.py", "a.py") == ["a.py"]


def test_a_folder_without_python_files_is_a_warning(project: Project) -> None:
    project.write({"readme.txt": ""})
    ran = project.run("-n", ".")
    assert ran.err == "devlint: warning: no Python files found in .\n"
    assert ran.code == 0


# --- what somebody may miss ----------------------------------------------------------------

INSTALLED = ".venv/lib/python3.12/site-packages"
LINTS = "--no-default-exclude lints it"


def warnings(project: Project, *args: str) -> list[str]:
    """What is said on standard error, without the start of each line."""
    lines = project.run("-n", *args).err.splitlines()
    assert all(line.startswith("devlint: warning: ") for line in lines)
    return [line.removeprefix("devlint: warning: ") for line in lines]


def test_a_folder_in_which_all_is_left_out_says_so(project: Project) -> None:
    project.write(files(f"{INSTALLED}/a.py"))
    told = f"{INSTALLED} is left out, by the default pattern `site-packages`: {LINTS}"
    for folder in (".venv", ".venv/lib"):
        assert warnings(project, folder) == [f"no Python files found in {folder}", told]
    assert warnings(project, INSTALLED) == []
    assert warnings(project) == [
        "no Python files found in .",
        f".venv is left out, by the default pattern `.venv`: {LINTS}",
    ]
    assert listed(project, "--no-default-exclude") == [f"{INSTALLED}/a.py"]
    assert listed(project, "--no-default-exclude", ".venv") == [f"{INSTALLED}/a.py"]


def test_so_does_a_part_of_an_environment(project: Project) -> None:
    project.write(files(".venv/bin/activate_this.py", f"{INSTALLED}/a.py", "src/b.py"))
    [told] = warnings(project, ".venv", "src")
    assert told == f"{INSTALLED} is left out, by the default pattern `site-packages`: {LINTS}"
    assert warnings(project) == warnings(project, "src") == []


def test_several_are_counted_and_what_holds_nothing_is_not_told(project: Project) -> None:
    project.write(files("x/build/a.py", "x/dist/b.py", "x/a.txt", "x/.git/c", "x/node_modules/d"))
    [_, told] = warnings(project, "x")
    assert told == f"x/build (and 1 more) is left out, by the default pattern `build`: {LINTS}"
    project.write(files("y/.git/c", "y/__pycache__/d.pyc"))
    assert warnings(project, "y") == ["no Python files found in y"]


@pytest.mark.parametrize(
    ("options", "by"),
    [
        (["--exclude=gen"], "by `exclude`"),
        (["--extend-exclude=gen"], "by `extend-exclude`"),
        (["--exclude=a.py", "--extend-exclude=x"], "by `exclude`"),
    ],
)
def test_patterns_of_the_user_are_called_by_their_key(
    project: Project, options: list[str], by: str
) -> None:
    project.write(files("src/gen/a.py"))
    place = "src/gen" if "a.py" not in options[0] else "src/gen/a.py"
    assert warnings(project, *options, "src")[1:] == [f"{place} is left out, {by}"]


def test_what_git_ignores_is_told_too(repository: Project) -> None:
    assert warnings(repository, "out")[1:] == [
        "out/x.py is left out, as git ignores it: --no-respect-gitignore lints it"
    ]


def test_what_force_exclude_leaves_out_is_told_where_nothing_is_left(project: Project) -> None:
    project.write(files("build/a.py", "gen/b.py", "c.py"))
    options = ("--force-exclude", "--extend-exclude=gen")
    told = f"build is left out, by the default pattern `build`: {LINTS}"
    for path in ("build", "build/a.py"):
        assert warnings(project, *options, path, "gen")[1:] == [told]
    assert warnings(project, *options, "gen/b.py")[1:] == ["gen is left out, by `extend-exclude`"]
    assert warnings(project, *options, "build/a.py", "c.py") == []


def test_the_defaults_are_a_key_and_a_list_of_ones_own_stays(project: Project) -> None:
    project.write(files("build/a.py", "gen/b.py", "c.py"))
    project.write({"devlint.toml": "default-exclude = false\n"})
    assert listed(project) == ["build/a.py", "c.py", "gen/b.py"]
    assert listed(project, "--default-exclude") == ["c.py", "gen/b.py"]
    assert listed(project, "--extend-exclude=gen") == ["build/a.py", "c.py"]
    project.write({"devlint.toml": 'exclude = ["gen"]\n'})
    assert listed(project, "--no-default-exclude") == ["build/a.py", "c.py"]


def test_a_deep_tree(project: Project) -> None:
    deep = "d/" * 300 + "a.py"
    project.write(files(deep))
    assert listed(project) == [deep]


@pytest.mark.parametrize("output_format", ["full", "json", "sarif", "junit", "gitlab"])
def test_names_that_are_no_unicode(project: Project, output_format: str) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    project.write({name: BAD_DEVICE})
    ran = project.run("-n", "--output-format", output_format, ".")
    assert (ran.code, ran.err) == (1, "")
    assert "DEV304" in ran.out
