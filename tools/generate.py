"""Writes the files that are made from others, or with `--check` says which are out of date.

python tools/generate.py
python tools/generate.py --check
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))  # this checkout's devlint, whichever is installed

from devlint.config import settings_schema  # noqa: E402
from devlint.config.rulebook import Page, pages  # noqa: E402
from devlint.policy import hypotheses, rows  # noqa: E402

FAMILIES = {
    "0": "The file itself",
    "1": "Portability: code that works on one kind of machine only",
    "2": "Mismatch: two devices meet",
    "3": "Wrong object, wrong argument",
    "4": "State that stays behind",
    "5": "Transfers",
}

RULES_HEAD = """\
# Rules

<!-- Made by tools/generate.py from rules/*.md: change those, then run it. -->

A rule at level *error* finds code that raises, or silently computes on the wrong device, as soon as
it runs on an accelerator. One at level *warning* finds code that breaks on another machine. A rule
that is *off* runs if it is selected. The last column says how often a finding has a fix.
"""


API_HEAD = """\
# What becomes of torch.cuda, torch.xpu, torch.mps and torch.accelerator

<!-- Made by tools/generate.py from what torch has: change devlint's runtime, then run it. -->

Under an [emulation](emulation.md), each public name of these modules of torch {torch} and of their
public submodules is one of these:

- *emulated*: a function of devlint answers as on a machine with such devices;
- *harmless*: torch's own code, which works on top of the emulation;
- *refused*: a call raises `NotImplementedError` with the name.

Names that only another release of torch has are refused. A function that reads sensors or counters
of the device, such as `temperature`, returns a constant.
"""

POLICY_HEAD = """\
# Policy

<!-- Made by tools/generate.py from src/devlint/policy/*.toml: change these, then run it. -->

The code of a program says what it does with devices. Names say more, by convention: code in
`tests/` runs where it works, and a parameter called `train_loader` is a DataLoader. Each of these
conventions is a row of policy with a reason, and a setting turns it off:

```toml
[tool.devlint.policy]
files-of-data = false
loaders = false
```

## What files are called

A row may take a file to be a test, or code for data, by its name. A finding that would not be
reported in such code is *withheld*. These rows only withhold findings: they add none, and change no
value.

| row | files called | or in folders called | taken to be | reason |
|---|---|---|---|---|
"""

POLICY_TAIL = """
Suffixes don't matter, but for the one that is named; nor does case. The last line of a run counts
what is withheld. SARIF has the count as `withheldByPolicy` among the properties of the run.
`devlint why FILE:LINE` names the row and its reason.

In a file that nobody else calls, an argument of a function counts as on the host unless it is moved
there: what a call brings from elsewhere is reported at the call. If neither the file nor one that
imports it speaks of devices, all of it counts as on the host. What is left in files of tests has a
lower confidence than elsewhere, since fewer such findings are true.

Turning such a row on or off breaks nothing: a comment that suppresses a withheld finding counts as
used, and a baseline lists withheld findings as well.

Tests (functions that pytest runs, `TestCase`) and code for samples (`Dataset`, a `collate_fn`) are
known by their code, whatever their file is called.
"""

NAMES_HEAD = """
## What anything else is called

A row for names says what something with that name is taken for if nothing else is known of it.
This is a hypothesis, which may cause findings or prevent them. A finding that depends on a row
names it, such as `policy.loaders`, in its `derivation` in JSON and SARIF. `devlint why FILE:LINE`
analyses the file without each row that matters there, and names those that cause or prevent a
finding at the line.

| row | what is called | is taken for | reason |
|---|---|---|---|
"""

FATES = ("emulated", "harmless", "refused")


def generated() -> Mapping[str, str]:
    """The text of each generated file, by its path in the repository."""
    return {
        "docs/rules.md": rules_table(list(pages(ROOT / "rules").values())),
        "docs/accelerator-api.md": accelerator_api(),
        "docs/policy.md": policy_table(),
        "devlint.schema.json": settings_schema.text(),
    }


def policy_table() -> str:
    """The page of all rows of policy."""
    parts = [POLICY_HEAD]
    for row in rows().values():
        folder = _pattern(row.folder)
        unless = f", unless `{_pattern(row.unless)}`" if row.unless is not None else ""
        unless += f" outside of `{row.but_in}`" if row.but_in else ""
        kind = {"test": "tests", "data": "code for data"}.get(row.role, "")
        closed = "called by nobody else" if row.closed else ""
        taken = kind or closed or ("on the host" if row.host else "run where CUDA is")
        called = [f"`{_pattern(row.stem)}`"] if row.stem is not None else []
        called += [f"anything that ends with `{row.suffix}`"] if row.suffix else []
        near = f"`{folder}` ({'the nearest' if row.near == 1 else f'the {row.near} nearest'})"
        parts.append(
            f"| `{row.name}` | {', '.join(called)}{unless} | {near if folder else ''} "
            f"| {taken} | {row.reason} |\n"
        )
    parts += [POLICY_TAIL, NAMES_HEAD]
    for each in hypotheses().values():
        unless = f", unless {_code(each.unless)}" if each.unless is not None else ""
        parts.append(
            f"| `{each.name}` | {', '.join(sorted(each.of))} {_code(each.pattern)}{unless} "
            f"| {each.means} | {each.reason} |\n"
        )
    return "".join(parts)


def _code(pattern: re.Pattern[str]) -> str:
    """A pattern as code of Markdown, whatever it holds."""
    text = _pattern(pattern)
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _pattern(pattern: re.Pattern[str] | None) -> str:
    """A pattern in one piece, for a cell of a table."""
    if pattern is None:
        return ""
    text = pattern.pattern
    if pattern.flags & re.VERBOSE:
        text = "".join(text.split()).replace("x)", ")", 1).removeprefix("(?)")
    return text.replace("|", "\\|")


def rules_table(found: list[Page]) -> str:
    """The index of all rules, a table a family."""
    parts = [RULES_HEAD]
    for digit, title in FAMILIES.items():
        family = [page for page in found if page.code.startswith(f"DEV{digit}")]
        if family:
            rows = "".join(
                f"| {page.code} | [{page.name}](../rules/{page.name}.md) | {_cell(page.summary)} "
                f"| {page.level.value} | {page.fix} |\n"
                for page in family
            )
            head = "| Code | Name | Finds | Level | Fix |\n|---|---|---|---|---|\n"
            parts.append(f"## DEV{digit}: {title}\n\n{head}{rows}")
    return "\n".join(parts)


def accelerator_api() -> str:
    """What becomes of each public name of torch's modules of accelerators, a table a module."""
    import torch

    parts = [API_HEAD.format(torch=torch.__version__.partition("+")[0])]
    for name, kind in (("cuda", "cuda"), ("xpu", "xpu"), ("mps", "mps"), ("accelerator", "cuda")):
        found = _fates(getattr(torch, name), kind)
        rows = "".join(
            f"| {fate} | {len(found[fate])} | {', '.join(f'`{each}`' for each in found[fate])} |\n"
            for fate in FATES
            if found[fate]
        )
        parts.append(f"## torch.{name}\n\n| | how many | names |\n|---|---|---|\n{rows}")
    return "\n".join(parts)


def _fates(module: ModuleType, kind: str) -> dict[str, list[str]]:
    from devlint import emulate
    from devlint.runtime.virtual.api.surface import is_refused, public

    found: dict[str, list[str]] = {fate: [] for fate in FATES}
    names = public(module)
    with emulate(kind):
        for each in names:
            now = getattr(each.owners[0], each.name.rpartition(".")[2])
            is_torchs = "harmless" if now is each.value else "emulated"
            found["refused" if is_refused(now) else is_torchs].append(each.name)
    return {fate: sorted(names) for fate, names in found.items()}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(arguments: list[str]) -> int:
    """Write what differs, or tell of it. Returns 1 where `--check` finds a difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args(arguments).check
    stale = [
        path
        for path, text in generated().items()
        if not (ROOT / path).is_file() or (ROOT / path).read_text(encoding="utf-8") != text
    ]
    for path in stale:
        print(f"{path} is out of date: run python tools/generate.py" if check else f"wrote {path}")
        if not check:
            (ROOT / path).parent.mkdir(exist_ok=True)
            (ROOT / path).write_text(generated()[path], encoding="utf-8", newline="\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
