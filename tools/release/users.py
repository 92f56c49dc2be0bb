"""The hook and the action, used as others use them: from the tag of a repository."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from release.candidate import git
from release.steps import Candidate, StepError, run, tool

BAD = "import torch\n\nw = torch.load('w.pt')\n"
"""One finding, DEV106."""


def repository(candidate: Candidate) -> Path:
    """A bare repository with the tag, made once."""
    bare = candidate.work / "devlint.git"
    if not bare.exists():
        git(candidate.work, "clone", "--quiet", "--bare", str(candidate.tree), str(bare))
    return bare


def project(candidate: Candidate, name: str) -> Path:
    """A repository of somebody's, with a file that a finding is in."""
    folder = candidate.work / name
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "bad.py").write_text(BAD)
    git(folder, "init", "--quiet")
    return folder


def hook(candidate: Candidate) -> str:
    """pre-commit, told of the tag."""
    folder, url = project(candidate, "hooked"), repository(candidate).as_uri()
    (folder / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {url}\n  rev: {candidate.tag}\n  hooks:\n  - id: devlint\n"
    )
    git(folder, "add", "--all")
    home = candidate.work / "pre-commit"
    told = {"PRE_COMMIT_HOME": str(home), "PRE_COMMIT_COLOR": "never"}
    command = [tool("pre-commit"), "run", "--all-files"]
    printed = run(command, cwd=folder, env=told, codes=(1,))
    if "DEV106" not in printed:
        raise StepError(f"the hook doesn't find DEV106:\n{printed}")
    (program,) = home.glob("*/py_env-*/bin/devlint")
    version = run([program, "--version"], cwd=folder).strip().removeprefix("devlint ")
    # pre-commit fetches the commit alone, without its tags.
    if not version.startswith(candidate.version) and candidate.is_final:
        raise StepError(f"the hook of {candidate.tag} says that it is {version}")
    return f"pre-commit from {candidate.tag}: finds DEV106; devlint there says {version}"


def action(candidate: Candidate) -> str:
    """The action's steps, as `action.yml` has them, from an archive of the tag: so runners fetch
    it."""
    fetched, folder = candidate.work / "action", project(candidate, "acted")
    fetched.mkdir()
    archive = candidate.work / "action.tar"
    bare = repository(candidate)
    git(bare, "archive", "--format=tar", f"--output={archive}", candidate.tag)
    run(["tar", "-xf", archive], cwd=fetched)
    given = {"src": "src", "sarif-file": "devlint.sarif"}
    outputs = composite(fetched, folder, given, candidate.work / "runner")
    if outputs != {"exit-code": "1"}:
        raise StepError(f"the outputs are {outputs}")
    log = json.loads((folder / "devlint.sarif").read_text("utf-8"))["runs"][0]
    found = [result["ruleId"] for result in log["results"]]
    version = log["tool"]["driver"]["version"]
    if found != ["DEV106"] or version != candidate.version:
        raise StepError(f"SARIF of {candidate.tag} has {found}, by devlint {version}")
    return f"action.yml from {candidate.tag}: annotates DEV106, SARIF by devlint {version}"


def composite(
    action: Path, workspace: Path, given: Mapping[str, str], runner: Path
) -> dict[str, str]:
    """Run the steps of a composite action, and return its outputs. All steps end with 0 or 1."""
    described = yaml.safe_load((action / "action.yml").read_text("utf-8"))
    unknown = set(given) - set(described["inputs"])
    if unknown:
        raise StepError(f"action.yml has no inputs {sorted(unknown)}")
    defaults = {name: str(each.get("default", "")) for name, each in described["inputs"].items()}
    context = {f"inputs.{name}": value for name, value in {**defaults, **given}.items()}
    context["github.action_path"] = str(action)
    runner.mkdir()
    for step in described["runs"]["steps"]:
        if step.get("shell") != "bash":
            raise StepError(f"a step without `shell: bash`: {step}")
        files = {"GITHUB_OUTPUT": runner / "output", "GITHUB_STEP_SUMMARY": runner / "summary.md"}
        env = {
            **{name: str(path) for name, path in files.items()},
            "RUNNER_TEMP": str(runner / "temporary"),
            "GITHUB_ACTIONS": "true",
            **{name: filled(str(value), context) for name, value in step.get("env", {}).items()},
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        printed = run(command, cwd=workspace, env=env, codes=(0, 1))
        if "::warning" not in printed or "DEV106" not in printed:
            raise StepError(f"the action annotates nothing:\n{printed}")
        lines = files["GITHUB_OUTPUT"].read_text("utf-8").splitlines()
        for name, _, value in (line.partition("=") for line in lines):
            context[f"steps.{step['id']}.outputs.{name}"] = value
    return {name: filled(each["value"], context) for name, each in described["outputs"].items()}


def filled(text: str, context: Mapping[str, str]) -> str:
    """A text with its expressions replaced. Raises `StepError` for one that means nothing."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in context:
            raise StepError(f"action.yml: nothing is called {found[1]}")
        return context[found[1]]

    return re.sub(r"\$\{\{\s*(.+?)\s*\}\}", value, text)
