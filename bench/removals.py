"""Device moves that are taken out of code that is right, and whether devlint tells.

    python bench/removals.py --checkouts DIR --draw 150 --of 3 --seed 16 --out FILE
    python bench/removals.py --checkouts DIR                 those of removals.jsonl
    python bench/removals.py --checkouts DIR --misses FILE

A row of removals.jsonl is one place of a public project: repository, commit, path, line, the byte
at which the call or the keyword starts, and what is taken out there: the call of `.to(device)`,
`.cuda()` or `.cpu()`, which leaves its receiver, or the keyword `device=` of a tensor that is made.
Who has judged it read the project without knowing devlint: it `raises` where the program is used
as it is meant to be with CUDA, is `harmless`, or `unclear`; and what has to be read to be sure of
that (`needs`): the function, the file, the project, a library, or only data tells. `first` is
whether it was named at the first look, before anybody had read it.

DIR holds checkouts, OWNER__NAME, of those commits. The file is linted with the files that import
it, and those that import these, with and without the change. A removal is named if there is a
finding of DEV109, DEV110, DEV2 to DEV5 that wasn't there before.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import linting
from precision import wilson

ROWS = Path(__file__).with_name("removals.jsonl")
CODES = ("DEV109", "DEV110", "DEV2", "DEV3", "DEV4", "DEV5")
_PLACE = re.compile("device|cuda|gpu", re.IGNORECASE)
_MADE = frozenset(
    "arange as_tensor bernoulli empty eye full full_like linspace logspace multinomial normal "
    "ones ones_like rand randint randn randperm tensor tril triu zeros zeros_like".split()
)
_TESTS = re.compile(r"/tests?/|test_")
_IMPORTS = re.compile(
    r"^\s*(?:from\s+([\w.]+)\s+import\s+\(?([^\n#]*)|import\s+([\w., ]+))", re.MULTILINE
)
_MOST_IMPORTING, _MOST = 8, 12
"""Files that are linted besides: of one step, and in all."""


@dataclass(frozen=True)
class Removal:
    """One place, and what readers say of it."""

    repo: str
    commit: str
    path: str
    line: int
    start: int
    kind: str
    verdict: str = ""
    needs: str = ""
    first: bool | None = None


def changed(source: bytes) -> Iterator[tuple[int, int, str, bytes]]:
    """Each removal of a file: its line, its first byte, its kind, and the file without it. Raises
    `SyntaxError` or `ValueError` if that can't be parsed."""
    offsets = [0]
    for line in source.split(b"\n"):
        offsets.append(offsets[-1] + len(line) + 1)

    def span(node: ast.expr | ast.keyword) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return offsets[node.lineno - 1] + node.col_offset, offsets[end_line - 1] + end_column

    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        start, end = span(node)
        if _moves(node, node.func.attr):
            inner = slice(*span(node.func.value))
            yield node.lineno, start, node.func.attr, source[:start] + source[inner] + source[end:]
        module = node.func.value
        if (
            node.func.attr in _MADE
            and isinstance(module, ast.Name)
            and module.id in ("torch", "th")
        ):
            for keyword in node.keywords:
                if keyword.arg == "device" and not isinstance(keyword.value, ast.Constant):
                    first, last = span(keyword)
                    before = source[:first].rstrip()
                    if before.endswith(b","):
                        yield node.lineno, len(before) - 1, "device=", before[:-1] + source[last:]


def _moves(node: ast.Call, name: str) -> bool:
    if name == "to":
        given = [*node.args, *(each.value for each in node.keywords if each.arg == "device")]
        typed = any(each.arg == "dtype" for each in node.keywords)
        return bool(given) and not typed and _PLACE.search(ast.unparse(given[0])) is not None
    return name == "cuda" or (name == "cpu" and not node.args)


def draw(checkouts: Path, size: int, most: int, seed: int) -> list[Removal]:
    """Places at random, at most `most` of a project, none in tests."""
    rng, found = random.Random(seed), list[Removal]()
    for project in sorted(each for each in checkouts.iterdir() if each.is_dir()):
        mine = []
        for path in sorted(project.rglob("*.py")):
            name = path.relative_to(project).as_posix()
            if path.is_file() and not _TESTS.search(f"/{name}"):
                repo = project.name.replace("__", "/", 1)
                try:
                    places = list(changed(path.read_bytes()))
                except (SyntaxError, ValueError):
                    continue
                mine += [Removal(repo, "", name, at, start, kind) for at, start, kind, _ in places]
        found += rng.sample(mine, min(len(mine), most))
    rng.shuffle(found)
    return found[:size]


def leading(project: Path, path: Path) -> list[Path]:
    """The files that import a file, and those that import these, by the names of modules."""
    imports = {
        each: set(re.split(r"\W+", " ".join(map(" ".join, _IMPORTS.findall(_text(each))))))
        for each in sorted(project.rglob("*.py"))
        if each.is_file() and each != path
    }
    found, last = list[Path](), [path]
    for _ in range(2):
        stems = {each.parent.name if each.stem == "__init__" else each.stem for each in last}
        last = [each for each, words in imports.items() if stems & words and each not in found]
        last = last[:_MOST_IMPORTING]
        found += last
    return found[:_MOST]


def _text(path: Path) -> str:
    return path.read_text(errors="replace")


def named(checkouts: Path, row: Removal) -> bool | None:
    """Whether devlint tells of a removal; None where the place isn't there."""
    source = checkouts / row.repo.replace("/", "__", 1)
    if not (source / row.path).is_file():
        return None
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch, source.name).resolve()
        shutil.copytree(source, project, symlinks=True)
        (project / ".git").mkdir(exist_ok=True)
        path = (project / row.path).resolve()
        if not path.is_relative_to(project):
            return None  # a link that leads out of the project
        text = next((t for _, at, kind, t in changed(path.read_bytes()) if at == row.start), None)
        if text is None:
            return None
        files = [path, *leading(project, path)]
        before = _findings(files, project)
        path.write_bytes(text)
        return bool(_findings(files, project) - before)


def _findings(files: list[Path], project: Path) -> Counter[tuple[str, str, str]]:
    run = linting.devlint(files, folder=project)
    if run.crash:
        raise SystemExit(f"devlint failed: {run.crash}")
    wanted = (each for each in run.findings if str(each["code"]).startswith(CODES))
    return Counter((str(f["code"]), str(f["message"]), str(f["filename"])) for f in wanted)


def report(rows: Iterable[tuple[Removal, bool]]) -> None:
    known = list(rows)
    print(f"{'':12} {'raise':>6} {'named':>20} {'at the first look':>20}")
    groups = [*dict.fromkeys(row.needs for row, _ in known if row.verdict == "raises"), ""]
    for needs in groups:
        mine = [
            each for each in known if each[0].verdict == "raises" and needs in (each[0].needs, "")
        ]
        now, first = sum(hit for _, hit in mine), sum(row.first is True for row, _ in mine)
        shares = (_share(part, len(mine)) for part in (now, first))
        print(f"{needs or 'all':12} {len(mine):6} " + " ".join(f"{each:>20}" for each in shares))
    others = [hit for row, hit in known if row.verdict != "raises"]
    print(f"harmless or unclear: {len(others)}, of which {sum(others)} are told of")


def _share(part: int, whole: int) -> str:
    low, high = wilson(part, whole)
    return f"{part}, {part / max(whole, 1):.0%} ({low:.0%}-{high:.0%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--checkouts", type=Path, required=True, help="a folder of checkouts")
    parser.add_argument("--draw", type=int, metavar="N", help="draw so many places")
    parser.add_argument("--of", type=int, default=3, help="places of one project (default: 3)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where drawn places go")
    parser.add_argument("--misses", type=Path, help="write those that raise and aren't named")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if options.draw:
        drawn = draw(options.checkouts, options.draw, options.of, options.seed)
        options.out.write_text("".join(json.dumps(asdict(row)) + "\n" for row in drawn))
        return
    rows = [Removal(**json.loads(line)) for line in ROWS.read_text().splitlines()]
    with ThreadPoolExecutor(options.jobs) as pool:
        told = list(pool.map(lambda row: named(options.checkouts, row), rows))
    known = [(row, hit) for row, hit in zip(rows, told, strict=True) if hit is not None]
    report(known)
    if options.misses:
        missed = (row for row, hit in known if row.verdict == "raises" and not hit)
        options.misses.write_text("".join(json.dumps(asdict(row)) + "\n" for row in missed))


if __name__ == "__main__":
    main()
