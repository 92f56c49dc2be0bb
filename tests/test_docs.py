"""README and docs/: every block is tried, as far as it can be without a network or another program.

- `console`: each command of devlint, pytest, make or python is one that is there, with its options;
  what is shown below `cd examples && devlint` is what devlint prints.
- `python`: runs on an emulated device, and raises where a comment says so.
- `toml`: settings that devlint takes. `yaml`: the hooks, inputs and options of devlint in it exist.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from devlint.cli.arguments import COMMANDS, PARSERS, parse
from devlint.config.settings import check_layer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^ *```$", re.M | re.S)
PLUGIN = (ROOT / "src/devlint/integrations/pytest_plugin.py").read_text()
FOR_EDITORS = frozenset({"json", "lua", "lisp", "elisp", "vim"})
"""Configurations of editors, which those read."""
OTHERS = frozenset(
    {"git", "ls", "pip", "torchrun", "cat", "patch", "mypy", "export", "xargs", "kubectl"}
)
"""Commands of others, which are taken at their word."""


@dataclass(frozen=True)
class Block:
    page: str
    row: int
    language: str
    text: str


def blocks() -> Iterator[Block]:
    for page in PAGES:
        content = page.read_text("utf-8")
        for found in FENCE.finditer(content):
            lines = found["text"].splitlines(keepends=True)
            text = "".join(line.removeprefix(found["indent"]) for line in lines)
            row = content.count("\n", 0, found.start()) + 1
            yield Block(page.name, row, found["language"], text)


BLOCKS = list(blocks())


def of(language: str) -> Any:
    chosen = [each for each in BLOCKS if each.language == language]
    assert chosen
    return pytest.mark.parametrize("block", chosen, ids=lambda each: f"{each.page}:{each.row}")


def test_every_block_has_a_language_that_is_tried() -> None:
    known = {"console", "python", "toml", "yaml", "text"} | FOR_EDITORS
    assert [each for each in BLOCKS if each.language not in known] == []


# --- console ---------------------------------------------------------------------------------


@of("console")
def test_commands_are_there(block: Block) -> None:
    lines = re.sub(r"\\\n\s*", " ", block.text).splitlines()
    typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    assert typed, "no command is typed"
    for line in typed:
        for words in commands(line):
            check_command(words)


def commands(line: str) -> Iterator[list[str]]:
    """The commands of a line, without what the shell adds."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if set(word) <= set("|&;"):
            yield words
            words = []
        elif set(word) <= set("<>"):
            next(lexer)
        else:
            words.append(word)
    yield words


def check_command(words: list[str]) -> None:
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    name, *rest = words
    if name == "torchrun" and "devlint" in rest:
        name, *rest = rest[rest.index("devlint") :]
    if name == "devlint":
        command = rest[0] if rest and rest[0] in COMMANDS else "check"
        options = rest[1:] if rest and rest[0] in COMMANDS else rest
        parse(command, [word for word in options if word not in ("--help", "-h")])
    elif name == "pytest":
        for word in rest:
            if word.startswith("--devlint"):
                assert f'"{word.partition("=")[0]}"' in PLUGIN, word
    elif name == "make":
        makefile = (ROOT / "Makefile").read_text()
        for target in rest:
            assert "=" in target or re.search(rf"^{target}:", makefile, re.MULTILINE), target
    elif name.startswith("python") and rest[0].endswith(".py") and "/" in rest[0]:
        script = (ROOT / rest[0]).read_text()
        for word in rest[1:]:
            if word.startswith("--"):
                assert f'"{word.partition("=")[0]}"' in script, word
    elif name == "cd":
        assert (ROOT / rest[0]).is_dir()
    else:
        assert name in OTHERS or name.startswith("python"), name


SHOWN = [each for each in BLOCKS if each.text.startswith("$ cd examples && devlint ")]


@pytest.mark.parametrize("block", SHOWN, ids=lambda each: f"{each.page}:{each.row}")
def test_what_is_shown_is_what_devlint_prints(block: Block) -> None:
    typed, _, shown = block.text.partition("\n")
    words = typed.removeprefix("$ cd examples && devlint ").split()
    command = [sys.executable, "-m", "devlint", *words, "--isolated", "--no-cache"]
    done = subprocess.run(command, cwd=ROOT / "examples", capture_output=True, text=True)
    assert done.stdout.strip().startswith(shown.strip())


def test_every_command_has_help() -> None:
    for command, parser in PARSERS.items():
        assert parser().format_help().startswith("usage: devlint"), command


# --- python ----------------------------------------------------------------------------------

GIVEN = """
import torch
from torch import nn
import devlint

model = nn.Linear(4, 2).cuda()
loader = [(torch.ones(3, 4), torch.ones(3))]

def train(model, loader):
    return [model(x.cuda()).sum() for x, _ in loader]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)

Trainer = lambda *given, **named: None  # that of Lightning, or of transformers
args = None

batch = torch.ones(3, 4)
"""


@of("python")
def test_code_runs(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    import devlint
    from devlint.runtime import guard as guards

    code = compile(block.text, block.page, "exec")
    names: dict[str, Any] = {"__name__": "example"}
    emulates = "devlint.emulate(" in block.text
    kind = contextlib.nullcontext() if emulates else devlint.emulate("cuda", count=2)
    with kind, contextlib.ExitStack() as installed:

        def install_guard(mode: str | None = None) -> Any:
            found = guards.install_guard(mode)
            installed.callback(found.remove)  # the page's program would end here
            return found

        monkeypatch.setattr(devlint, "install_guard", install_guard, raising=False)
        if not emulates:
            exec(GIVEN, names)
        else:
            exec("import torch, devlint", names)
        if "RuntimeError" in block.text or "raises PyTorch" in block.text:
            with pytest.raises(RuntimeError, match="same device"):
                exec(code, names)
            return
        try:
            exec(code, names)
        except ModuleNotFoundError as error:
            if str(error.name).startswith("devlint"):
                raise
            pytest.skip(f"{error.name} isn't installed")
        except NameError as error:
            if error.name != "accelerator":  # Accelerate's own, which nobody makes here
                raise


# --- settings --------------------------------------------------------------------------------


@of("toml")
def test_settings_are_taken(block: Block) -> None:
    table = tomllib.loads(block.text)
    if "language-server" in table:
        return  # that of an editor
    values = table.get("tool", {}).get("devlint", {}) if "tool" in table else table
    check_layer(block.page, os.sep, values)


@of("yaml")
def test_hooks_and_inputs_are_there(block: Block) -> None:
    content = yaml.safe_load(block.text)
    hooks = {
        each["id"]: each for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    }
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    for part in parts(content):
        if "hooks" in part and "devlint" in str(part.get("repo", "local")):
            for hook in part["hooks"]:
                assert hook["id"] in hooks or "entry" in hook
                parse("check", [str(word) for word in hook.get("args", ())])
        if str(part.get("uses", "")).startswith("devlint/devlint@"):
            assert set(part.get("with", {})) <= set(inputs)
        scripts = part.get("run", part.get("script", ()))
        for line in scripts.splitlines() if isinstance(scripts, str) else scripts:
            if line.lstrip().startswith(("devlint ", "pytest ")) and "$" not in line:
                check_command(shlex.split(line))


def parts(content: Any) -> Iterator[dict[str, Any]]:
    """All tables, at any depth."""
    if isinstance(content, dict):
        yield content
        content = list(content.values())
    if isinstance(content, list):
        for each in content:
            yield from parts(each)
