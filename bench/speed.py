"""How long devlint takes beside TorchFix, flake8, ruff and the parsers alone; how long one waits.

    python bench/speed.py --peers PYTHON --draw docs/speed.svg      all of it, in some ten minutes
    python bench/speed.py --peers PYTHON --quick                    in two minutes
    python bench/speed.py --tools devlint libcst ast --sample 0     whole packages, against parsers
    python bench/speed.py --tools devlint libcst --paths src tests  files of your own

PYTHON is the interpreter of another environment, with torchfix 0.7.0, flake8 and ruff. Each group
of packages is copied, or so many files of it, drawn at random, since TorchFix takes a minute for
some dozens. Then all tools lint the same copy, one after the other, in one process and in two, and
all of that five times: the tables have the medians. devlint runs all rules, TorchFix as well,
flake8 and ruff their default. User seconds are those of all processes of a run, memory that of its
largest; a process begins as a copy of this one, so less than 20 MiB isn't told. Tables are in
Markdown, as docs/speed.md has them.

devlint lets Python's garbage collector run rarely; the parsers alone go over files by devlint's own
loop, so it runs as often there. Files that are drawn import others that aren't there: what devlint
does over files is measured with `--sample 0`.
"""

from __future__ import annotations

import argparse
import platform
import random
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import packages
import speed_marks
from speed_tools import FLOORS, TOOLS, Cost, lint, middle, versions, warm_up

GROUPS = {
    "models": ("transformers", "timm", "segmentation-models-pytorch", "open-clip-torch"),
    "pipelines": ("lightning", "accelerate", "trl", "mmengine"),
}
MOST_OF_PARSE = {"models": 0.35, "pipelines": 0.5}
"""User time beside LibCST's parser, in one process."""
LEAST_OF_TORCHFIX = 50
WARM = (*GROUPS["models"][1:], *GROUPS["pipelines"])
"""Packages of the tree in which nothing changes."""
QUICK = 8

Costs = Mapping[tuple[str, int], Cost]
"""What a tool takes in so many processes."""


def copy(files: Sequence[tuple[str, Path]], root: Path) -> int:
    """Copy files under `root`, each by its name there, times kept; how many lines they have."""
    lines = 0
    for name, path in files:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
        lines += path.read_bytes().count(b"\n")
    return lines


def files_of(names: Sequence[str], cache: Path) -> list[tuple[str, Path]]:
    """The files of packages, by the names that their copies have."""
    return [
        (str(Path(package.name) / path.relative_to(package.folder)), path)
        for package in packages.fetch(names, cache)
        for path in package.files
    ]


def add_files(parser: argparse.ArgumentParser) -> None:
    """The options that say which files are chosen."""
    parser.add_argument("--packages", nargs="*", default=[], help="names of corpus.toml")
    parser.add_argument("--paths", nargs="*", type=Path, default=[], help="folders instead")
    parser.add_argument("--cache", type=Path, default=packages.default_cache())
    parser.add_argument("--sample", type=int, default=30, help="files of a group; 0 is all")
    parser.add_argument("--seed", type=int, default=0)


def choose(options: argparse.Namespace) -> dict[str, list[tuple[str, Path]]]:
    """The files to lint, by group."""
    if options.paths:
        own = [
            (str(Path(f"{number:03d}") / path.relative_to(top)), path)
            for number, top in enumerate(options.paths)
            for path in sorted(top.rglob("*.py"))
        ]
        found = {"paths": own}
    elif options.packages:
        found = {"packages": files_of(options.packages, options.cache)}
    else:
        found = {group: files_of(names, options.cache) for group, names in GROUPS.items()}
    dice = random.Random(options.seed)
    return {
        group: sorted(dice.sample(files, min(options.sample or len(files), len(files))))
        for group, files in found.items()
    }


def compared(root: Path, options: argparse.Namespace) -> Costs:
    """What the tools take over a tree, as medians."""
    found: dict[tuple[str, int], list[Cost]] = {}
    for number in range(options.repeat):
        for jobs in options.jobs:
            for tool in options.tools:
                found.setdefault((tool, jobs), []).append(lint(tool, root, jobs, options.peers))
        print(f"round {number + 1} of {options.repeat}", file=sys.stderr, flush=True)
    return {key: middle(costs) for key, costs in found.items()}


def table(costs: Costs, lines: int, releases: Mapping[str, str], jobs: Sequence[int]) -> str:
    """A group's costs as Markdown."""
    floors = [floor for floor in FLOORS if (floor, jobs[0]) in costs]
    head = ["tool"]
    for number in jobs:
        head += [f"user s, {number} process{'es' * (number > 1)}", "wall s", "MiB", "lines a s"]
        head += [f"user, of {floor}" for floor in floors if number == jobs[0]]
    rows = [head, ["---"] * len(head)]
    for tool in dict.fromkeys(tool for tool, _ in costs):
        row = [f"{tool} {releases.get(tool, '')}".strip()]
        for number in jobs:
            cost = costs[tool, number]
            row += [f"{cost.user:.2f}", f"{cost.wall:.2f}", f"{cost.memory:.0f}"]
            row += [f"{lines / cost.wall:,.0f}"]
            row += [
                f"{cost.user / costs[floor, number].user:.2f}"
                for floor in floors
                if number == jobs[0]
            ]
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def beside(group: str, costs: Costs) -> list[str]:
    """What is to hold of a group's costs, each with what was found."""
    own, told = costs.get(("devlint", 1)), []
    if own and (parse := costs.get(("libcst", 1))):
        most = MOST_OF_PARSE.get(group)
        told.append(f"{own.user / parse.user:.2f} times LibCST's parse"
                    + (f" (at most {most:.2f})" if most else ""))  # fmt: skip
    if own and (peer := costs.get(("torchfix", 1))):
        told.append(f"1/{peer.user / own.user:.1f} of TorchFix (at most 1/{LEAST_OF_TORCHFIX})")
    return told


def waits(options: argparse.Namespace, scratch: Path) -> str:
    """How long a person waits, as a table."""
    quick, repeat = options.quick, options.repeat
    names = WARM[1:3] if quick else WARM
    tree = scratch / "warm"
    files = files_of(names, options.cache)
    copy(files, tree)
    return speed_marks.table(
        (
            speed_marks.nothing_changed(tree, len(files), options.peers, repeat),
            speed_marks.one_changed(200 if quick else 2000, repeat),
            speed_marks.hook(sorted(tree.iterdir()), repeat, options.seed),
            speed_marks.version(repeat),
        )
    )


def main() -> None:
    """Measure, print tables, draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peers", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--tools", nargs="*", choices=TOOLS, default=list(TOOLS))
    add_files(parser)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--jobs", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--quick", action="store_true", help="one round, over less")
    parser.add_argument("--draw", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.quick:
        options.sample, options.repeat = min(options.sample, QUICK), 1
    releases = versions(options.tools, options.peers)
    warm_up(options.tools, options.peers)
    print(f"Python {platform.python_version()}, medians of {options.repeat}")
    drawn = {}
    with tempfile.TemporaryDirectory() as place:
        for group, files in choose(options).items():
            root = Path(place, group)
            lines = copy(files, root)
            costs = drawn[group] = compared(root, options)
            print(f"\n{group}: {len(files):,} files, {lines:,} lines\n")
            print(table(costs, lines, releases, options.jobs))
            print("".join(f"\n- devlint takes {each}" for each in beside(group, costs)), flush=True)
        if "ruff" in options.tools and not options.packages and not options.paths:
            print(f"\n{waits(options, Path(place))}")
    if options.draw is not None:
        draw(drawn, options.draw)


def draw(found: Mapping[str, Costs], path: Path) -> None:
    """Draw the user seconds and the memory of one process, one bar for each tool, as SVG."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise SystemExit("--draw needs matplotlib") from error
    mpl.use("svg")
    from matplotlib import pyplot

    with mpl.rc_context({"svg.hashsalt": "devlint", "svg.fonttype": "none"}):
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
        for number, (group, costs) in enumerate(found.items()):
            tools = [tool for tool, jobs in costs if jobs == 1]
            places = [place + 0.4 * number for place in range(len(tools))]
            alone = [costs[tool, 1] for tool in tools]
            left.barh(places, [cost.user for cost in alone], 0.4, label=group)
            right.barh(places, [cost.memory for cost in alone], 0.4)
            left.set_yticks([0.2 + place for place in range(len(tools))], tools)
        left.set(xlabel="user seconds, one process", xscale="log")
        right.set(xlabel="MiB", yticks=[])
        for each in (left, right):
            each.invert_yaxis()
        left.legend(fontsize="small")
        figure.savefig(path, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
