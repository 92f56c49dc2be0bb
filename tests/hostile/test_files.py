"""Only plain files are read, links lead nowhere, and nothing is written that nobody named."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from driver.conftest import BAD_DEVICE, CLEAN, Project

from devlint.safety import writing

UNUSED = "x = 1  # devlint: ignore[DEV101]\n"
"""DEV002, which a safe fix goes with."""

PLACES = {
    "a source": ("b.py", [], "b.py: it is neither a file nor a folder\n"),
    "a source that is named": ("b.py", ["b.py"], "b.py: it is neither a file nor a folder\n"),
    "an import": ("helper.py", ["use.py"], "helper.py: it is not a plain file\n"),
    "an import that is linted as well": (
        "helper.py",
        [],
        "helper.py: it is neither a file nor a folder\n",
    ),
    "an ignore file": (".gitignore", [], ".gitignore: it is not a plain file\n"),
    "an ignore file below": ("sub/.gitignore", [], "sub/.gitignore: it is not a plain file\n"),
    "git's own ignore file": (".git/info/exclude", [], "exclude: it is not a plain file\n"),
    "a project's configuration": (
        "pyproject.toml",
        [],
        "pyproject.toml: can't be read: it is not a plain file\n",
    ),
    "a configuration": (
        "devlint.toml",
        [],
        "devlint.toml: can't be read: it is not a plain file\n",
    ),
    "a configuration that is named": (
        "conf.toml",
        ["--config=conf.toml"],
        "conf.toml: can't be read: it is not a plain file\n",
    ),
    "a configuration to inherit from": (
        "base.toml",
        ["--config=child.toml"],
        "base.toml: can't be read: it is not a plain file\n",
    ),
    "a baseline": ("base.json", ["--baseline=base.json"], "base.json: it is not a plain file\n"),
}


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket has to be short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def make_endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


KINDS = {"a pipe": make_pipe, "a socket": make_socket, "an endless file": make_endless}


LEFT_ALONE = ("b.py", "helper.py", ".gitignore", "sub/.gitignore", ".git/info/exclude")
"""Where a link that leads out of the tree is passed over."""


@pytest.mark.skipif(os.name != "posix", reason="needs pipes with names")
@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(("name", "words", "entry"), PLACES.values(), ids=PLACES)
def test_what_is_no_plain_file_is_one_clear_entry(
    project: Project, name: str, words: list[str], entry: str, make: Callable[[Path], None]
) -> None:
    use = "import torch\nimport helper\nx = helper.f(torch.ones(2))\n"
    project.write({".git/info/keep": "", "sub/a.py": BAD_DEVICE, "use.py": use})
    project.write({"child.toml": 'extend = "base.toml"\n'})
    make(project.folder / name)
    ran = in_seconds(lambda: project.concise(*words), 30)
    if make is make_endless and name in LEFT_ALONE and words != ["b.py"]:
        assert (ran.code, ran.err) == (1 - (words == ["use.py"]), "")
    else:
        ways = (
            entry,
            "it is a link that leads out of the project; --config can name it\n",
            "base.json is a link to /dev/zero: name that place instead\n",
        )
        assert ran.err.endswith(ways if make is make_endless else entry)
        assert ran.err.count("\n") == 1
        assert ran.code == 2


def in_seconds(function: Callable[[], object], seconds: float):  # type: ignore[no-untyped-def]
    """What a function returns, unless it hangs."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, "it hangs"
    return results[0]


def test_a_file_larger_than_its_kind_is_ever(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE, "devlint.toml": b"#" * (1 << 20) + b"\n"})
    assert project.concise().err == (
        "devlint: devlint.toml: can't be read: it is larger than 1,048,576 bytes\n"
    )
    (project.folder / "devlint.toml").write_text("max-file-size = 99_000_000_000\n")
    assert "must be a number of bytes from 1 to 67,108,864" in project.concise().err
    (project.folder / "devlint.toml").unlink()
    with (project.folder / "sparse.py").open("wb") as file:
        file.truncate(1 << 40)
    ran = project.concise()
    assert "sparse.py:1:1: DEV003 larger than" in ran.out
    assert "a.py:3:" in ran.out


# --- links ---------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outside") / "secret.py"
    path.write_text(BAD_DEVICE + UNUSED)
    return path


def test_links_that_lead_out_are_neither_read_nor_written(project: Project, outside: Path) -> None:
    project.write({"src/own.py": CLEAN})
    (project.folder / "src/link.py").symlink_to(outside)
    (project.folder / "src/folder").symlink_to(outside.parent)
    before = outside.read_bytes()
    for words in (["--fix"], ["--add-ignore"], ["--fix", "--unsafe-fixes", "src"], ["--diff"]):
        ran = project.run("--no-cache", *words)
        assert ran.code == 0
        assert "secret" not in ran.out
        assert "a link that leads out of the given folders" in ran.err
    assert outside.read_bytes() == before
    assert "src/link.py: a link that leads out of" in project.run("-v").err


def test_a_link_that_is_named_is_followed(project: Project, outside: Path) -> None:
    (project.folder / "link.py").symlink_to(outside)
    assert project.found("link.py") == ["link.py DEV304", "link.py DEV002"]
    project.run("--no-cache", "--fix", "link.py")
    assert (project.folder / "link.py").is_symlink()
    assert "ignore" not in outside.read_text()


def test_a_folder_that_is_named_may_be_reached_by_a_link(project: Project) -> None:
    project.write({"real/a.py": BAD_DEVICE})
    (project.folder / "link").symlink_to("real")
    assert project.found("link") == ["link/a.py DEV304"]


def test_a_file_with_two_names_in_the_tree_is_linted_and_fixed_once(project: Project) -> None:
    project.write({"a.py": UNUSED})
    (project.folder / "b.py").symlink_to("a.py")
    assert project.found() == ["a.py DEV002"]
    ran = project.run("--no-cache", "--fix")
    assert (ran.code, ran.err) == (0, "")
    assert project.read("a.py") == "x = 1\n"


def test_imports_do_not_lead_out_by_links(project: Project, outside: Path) -> None:
    """What is outside doesn't change what is found: it isn't read as a part of the project."""
    outside.with_name("helper.py").write_text(
        "import torch\ndef make():\n    return torch.zeros(3, device='cuda')\n"
    )
    use = "import torch\nfrom helper import make\nx = make() + torch.ones(3, device='cpu')\n"
    project.write({"pyproject.toml": "", "use.py": use})
    (project.folder / "helper.py").symlink_to(outside.with_name("helper.py"))
    assert project.found("use.py") == []
    (project.folder / "helper.py").unlink()
    project.write({"helper.py": outside.with_name("helper.py").read_bytes()})
    assert project.found("use.py") != []
    (project.folder / "helper.py").unlink()
    outside.parent.joinpath("pack").mkdir()
    outside.with_name("helper.py").rename(outside.parent / "pack/__init__.py")
    (project.folder / "helper").symlink_to(outside.parent / "pack")
    assert project.found("use.py") == []


def test_a_linked_ignore_file_is_passed_over_as_git_does(project: Project, outside: Path) -> None:
    outside.write_text("*.py\n")
    project.write({".git/HEAD": "", "a.py": BAD_DEVICE})
    (project.folder / ".gitignore").symlink_to(outside)
    assert project.found() == ["a.py DEV304"]


@pytest.mark.parametrize("name", ["pyproject.toml", "devlint.toml"])
def test_a_linked_configuration_stays_in_the_repository(
    project: Project, outside: Path, name: str
) -> None:
    text = "[tool.devlint]\nignore = ['ALL']\n" if name[0] == "p" else "ignore = ['ALL']\n"
    outside.write_text(text)
    project.write({"sub/a.py": BAD_DEVICE, "shared.toml": text})
    link = project.folder / "sub" / name
    link.symlink_to(outside)
    ran = project.concise()
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "it is a link that leads out of the project; --config can name it" in ran.err
    assert project.concise(f"--config=sub/{name}").code == 0
    outside.write_text("[tool.other]\n")
    assert project.concise().code == (1 if name[0] == "p" else 2)
    link.unlink()
    link.symlink_to("../shared.toml")
    assert project.concise().code == 2
    project.write({".git/HEAD": ""})
    assert project.concise().code == 0


OUTPUTS = {
    "a report": ["--output-file=report.json", "--output-format=json"],
    "a baseline": ["--baseline=report.json"],
}


@pytest.mark.parametrize("words", OUTPUTS.values(), ids=OUTPUTS)
@pytest.mark.parametrize("exists", [True, False])
def test_a_name_for_output_that_is_a_link_out_is_refused(
    project: Project, outside: Path, words: list[str], exists: bool
) -> None:
    project.write({"a.py": BAD_DEVICE})
    if not exists:
        outside.unlink()
    (project.folder / "report.json").symlink_to(outside)
    before = outside.read_bytes() if exists else None
    ran = project.run("--no-cache", "a.py", *words)
    assert ran.code == 2
    assert f"report.json is a link to {outside}: name that place instead" in ran.err
    assert (outside.read_bytes() if outside.exists() else None) == before


def test_a_linked_folder_is_no_place_for_output(project: Project, outside: Path) -> None:
    project.write({"a.py": BAD_DEVICE})
    (project.folder / "out").symlink_to(outside.parent)
    for word in ("--output-file=out/x", "--cache-dir=out/x", "--baseline=out/x"):
        ran = project.run("a.py", word)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert f"out is a link to {outside.parent}: name that place instead" in ran.err
    assert [path.name for path in outside.parent.iterdir()] == ["secret.py"]


def test_a_linted_folder_elsewhere_has_no_links_for_output_either(
    project: Project, outside: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tree = tmp_path_factory.mktemp("tree")
    (tree / "a.py").write_text(BAD_DEVICE)
    (tree / "out").symlink_to(outside.parent)
    (tree / "report.json").symlink_to(outside)
    before = outside.read_bytes()
    for place in ("out/x", "report.json"):
        for option in ("output-file", "baseline", "cache-dir"):
            assert project.run(f"--{option}={tree / place}", str(tree)).code == 2
    assert outside.read_bytes() == before
    assert [path.name for path in outside.parent.iterdir()] == ["secret.py"]


@pytest.mark.skipif(os.name != "posix", reason="needs pipes with names")
def test_a_pipe_in_the_tree_is_no_place_for_output(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    os.mkfifo(project.folder / "pipe")
    ran = in_seconds(lambda: project.run("--no-cache", "--output-file=pipe"), 30)
    assert (ran.code, ran.err) == (2, "devlint: pipe: it is not a plain file\n")


def test_output_goes_where_the_shell_says(project: Project) -> None:
    project.write({"a.py": BAD_DEVICE})
    ran = project.spawn("-n", "--output-format=concise", "--output-file=/dev/stdout", "a.py")
    assert "a.py:3:" in ran.out


# --- writing -------------------------------------------------------------------------------


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = status.st_mtime_ns, content
    return found


READING = (
    [], ["check", "."], ["--statistics"], ["--show-files"], ["--show-settings"], ["--diff"],
    ["--output-format=sarif"], ["rule", "DEV202"], ["config"], ["clean"], ["--select=ALL"],
)  # fmt: skip


def test_what_only_reads_creates_nothing(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing in the project, whatever it says of caches and fixes; nothing else but the cache."""
    project.write({f"m{n}.py": UNUSED + BAD_DEVICE for n in range(3)})
    home = tmp_path_factory.mktemp("somebody")
    before = everything(project.folder)
    for words in READING:
        project.spawn(*words, HOME=str(home), XDG_CACHE_HOME=str(home / "caches"))
    assert everything(project.folder) == before
    created = {path.relative_to(home).parts[:2] for path in home.rglob("*") if path.is_file()}
    assert created <= {("caches", "devlint")}


@pytest.mark.parametrize("text", ["fix = true", 'cache-dir = "here"', "fix-only = true"])
def test_a_configuration_can_not_make_devlint_write(project: Project, text: str) -> None:
    project.write({"a.py": UNUSED, "pyproject.toml": f"[tool.devlint]\n{text}\n"})
    before = everything(project.folder)
    ran = project.run()
    assert ran.code == 2
    assert "can't be set in a configuration file" in ran.err
    assert everything(project.folder) == before


@pytest.mark.parametrize("words", [["--fix"], ["--add-ignore"]], ids=" ".join)
def test_what_others_write_meanwhile_is_not_lost(
    project: Project, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    project.write({"a.py": UNUSED + BAD_DEVICE, "b.py": UNUSED + BAD_DEVICE})
    take_over = writing._take_over

    def append(original: int, descriptor: int, path: str) -> None:
        take_over(original, descriptor, path)
        if path.endswith("a.py"):
            with Path(path).open("a") as file:
                file.write("# theirs\n")

    monkeypatch.setattr(writing, "_take_over", append)
    ran = project.run("--no-cache", "--quiet", *words)
    assert project.read("a.py") == UNUSED + BAD_DEVICE + "# theirs\n"
    assert project.read("b.py") != UNUSED + BAD_DEVICE
    assert "devlint: a.py: can't be " in ran.err
    assert "it was changed meanwhile, so it is left as it is: run devlint again" in ran.err
    assert ran.code == 2


def test_two_fixing_runs_at_once_lose_nothing(project: Project) -> None:
    project.write({f"m{n}.py": UNUSED * 20 for n in range(8)})
    command = project.command("-n", "-j1", "--quiet", "--fix", ".")
    runs = [
        subprocess.Popen(command, cwd=project.folder, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    errors = "".join(process.communicate(timeout=120)[1] for process in runs)
    assert "Traceback" not in errors
    assert {project.read(f"m{n}.py") for n in range(8)} == {"x = 1\n" * 20}
    assert sorted(path.name for path in project.folder.iterdir()) == [f"m{n}.py" for n in range(8)]


def test_files_that_have_two_names_are_fixed_once(project: Project) -> None:
    names = []
    for number in range(10):
        project.write({f"m{number}.py": UNUSED})
        (project.folder / f"n{number}.py").symlink_to(f"m{number}.py")
        names += [f"m{number}.py", f"n{number}.py"]
    ran = project.run("--no-cache", "--fix", "-j2", *names)
    assert (ran.code, ran.err) == (0, "")
    assert {project.read(name) for name in names} == {"x = 1\n"}
