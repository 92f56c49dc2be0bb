"""What a step of a release is, and how its commands are run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

PASSED, FAILED, LEFT_OUT = "passed", "FAILED", "LEFT OUT"
TOOLS = Path(sys.executable).parent
"""Where the tools of requirements-release.txt are, which run this as well."""


class StepError(Exception):
    """A step fails; the text says why."""


class LeftOutError(Exception):
    """A step can't be taken on this machine; the text says what it lacks."""


@dataclass(frozen=True)
class Candidate:
    """What is to be released: a clone whose commit has the tag of its version.

    `repository` is where it came from, `work` a folder for what steps need, `out` where everything
    goes that is kept, and below it `packages` what is published.
    """

    repository: Path
    tree: Path
    version: str
    epoch: int
    work: Path
    out: Path
    commit: str
    is_new: bool = True
    """Whether the tag is the clone's alone."""

    @property
    def tag(self) -> str:
        return f"v{self.version}"

    @property
    def is_final(self) -> bool:
        return not Version(self.version).is_prerelease

    @property
    def packages(self) -> Path:
        return self.out / "packages"

    @property
    def bundle(self) -> Path:
        """The commit of a release, where one had to be made."""
        return self.out / f"{self.tag}.bundle"

    @property
    def wheel(self) -> Path:
        (found,) = self.packages.glob("*.whl")
        return found

    @property
    def sdist(self) -> Path:
        (found,) = self.packages.glob("*.tar.gz")
        return found


@dataclass(frozen=True)
class Outcome:
    """How a step ended, in a line or more."""

    name: str
    state: str
    text: str
    seconds: float


@dataclass
class Log:
    """All outcomes so far, which are printed as they come."""

    outcomes: list[Outcome] = field(default_factory=list)

    def take(self, name: str, step: Callable[[], str]) -> bool:
        """Take a step. Returns whether it didn't fail."""
        start = time.monotonic()
        print(f"... {name}", flush=True)
        try:
            state, text = PASSED, step()
        except LeftOutError as reason:
            state, text = LEFT_OUT, str(reason)
        except StepError as reason:
            state, text = FAILED, str(reason)
        except Exception as error:  # the other steps are taken all the same
            state, text = FAILED, f"{type(error).__name__}: {error}"
        outcome = Outcome(name, state, text.strip(), time.monotonic() - start)
        self.outcomes.append(outcome)
        print(shown(outcome), flush=True)
        return state != FAILED

    def having(self, state: str) -> list[str]:
        return [outcome.name for outcome in self.outcomes if outcome.state == state]


def shown(outcome: Outcome) -> str:
    head = f"{outcome.state:8}  {outcome.name} ({outcome.seconds:.1f} s)"
    return "\n".join([head, *(f"          {line}" for line in outcome.text.splitlines())])


def run(
    command: Sequence[str | Path],
    cwd: Path,
    env: Mapping[str, str] | None = None,
    codes: Sequence[int] = (0,),
) -> str:
    """What a command prints, on both streams. Raises `StepError` for another exit code."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**surroundings(), **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode not in codes:
        line = " ".join(map(str, command))
        end = "\n".join(done.stdout.splitlines()[-30:])
        raise StepError(f"{line}\nends with {done.returncode}:\n{end}")
    return done.stdout


def surroundings() -> dict[str, str]:
    """The environment of all commands: the tools come first, and no checkout is on the path."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return {**kept, "PATH": f"{TOOLS}{os.pathsep}{kept.get('PATH', os.defpath)}"}


def tool(name: str) -> str:
    """A program, those of requirements-release.txt first. Raises `LeftOutError`."""
    found = shutil.which(name, path=surroundings()["PATH"])
    if found is None:
        raise LeftOutError(f"{name} isn't installed here")
    return found


def environment(folder: Path, *requirements: str | Path, options: Sequence[str] = ()) -> Path:
    """A new environment with nothing in it but some packages; returns its Python."""
    run([sys.executable, "-m", "venv", "--without-pip", "--clear", folder], cwd=folder.parent)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    run([*pip, "--disable-pip-version-check", *options, *requirements], cwd=folder.parent)
    return python
