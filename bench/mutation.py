"""Mutation testing: how many small changes of the code that decides do the quick tests find?

    pip install mutmut coverage
    python bench/mutation.py --count 60 --seed 1          so many of each room
    python bench/mutation.py --count 25 --paths rules src/devlint/verdict/score.py
    python bench/mutation.py --known seen.json            keeps there which test runs which row

A *room* is a part of the source, or a path that is given. Of its places some are drawn, of each one
mutant (mutants.py). The tests are those of cases, pages, facts, rules, verdict, policy and
interpreter that take at most `SLOW` seconds (mutant_trials.py). A mutant *died* if a test failed or
took far longer than it should. The whole suite takes ten minutes and may find more.

Survivors that somebody has read are in mutants.jsonl, with the reason why no test finds them:
`why` is "equivalent", "message", "speed" or "kept". `--sheet` writes the others as such lines.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter, defaultdict
from dataclasses import replace
from math import sqrt
from pathlib import Path

from mutant_trials import ROOT, Seen, learned, tried
from mutants import drawn

JUDGED = ROOT / "bench" / "mutants.jsonl"
KEYS = ("path", "within", "was", "now", "nth")
SOURCE = ROOT / "src" / "devlint"
FLOW = SOURCE / "flow"

ROOMS = {
    "rules": [SOURCE / "rules"],
    "verdict": [SOURCE / "verdict"],
    "policy": [SOURCE / "policy"],
    # Calls are followed, not summarised: what is known of functions and classes, and what calls
    # and constructors make of it.
    "summaries": [
        FLOW / "calls",
        FLOW / "frames" / "callee_facts.py",
        FLOW / "frames" / "at_call.py",
        *(
            FLOW / "bodies" / f"{name}.py"
            for name in ("functions", "returns", "classes", "methods")
        ),
        FLOW / "modules" / "constructed.py",
    ],
    "transfer": [FLOW / "effects"],
}


def judgements() -> dict[tuple[str | int, ...], str]:
    """Why survivors that somebody has read survive."""
    if not JUDGED.exists():
        return {}
    lines = [json.loads(line) for line in JUDGED.read_text(encoding="utf-8").splitlines()]
    return {tuple(line[key] for key in KEYS): f"{line['why']}: {line['reason']}" for line in lines}


def share(died: int, count: int) -> str:
    """A share with its 95 % Wilson interval; not that of precision.py, which loads devlint."""
    if not count:
        return "0 of 0"
    of, z = died / count, 1.959964
    middle, width = of + z * z / (2 * count), z * sqrt(of * (1 - of) / count + (z / 2 / count) ** 2)
    least, most = ((middle + sign * width) / (1 + z * z / count) for sign in (-1, 1))
    return f"{died} of {count}, {of:.0%} ({least:.0%} to {most:.0%})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=25, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--paths", nargs="*", default=list(ROOMS), help="rooms, files or folders")
    parser.add_argument("--known", type=Path, help="keep there what is learned of the tests")
    parser.add_argument("--sheet", type=Path, help="write survivors that nobody has read there")
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["PYTHONPATH"] = str(ROOT / "src")  # for tests that start devlint; unchanged
    sys.path.insert(0, os.environ["PYTHONPATH"])
    rooms = {name: ROOMS.get(name) or [Path(name).resolve()] for name in options.paths}
    if options.known and options.known.exists():
        seen = Seen(*json.loads(options.known.read_text(encoding="utf-8")))
    else:
        seen = learned([path for paths in rooms.values() for path in paths])
        if options.known:
            text = json.dumps([seen.seconds, seen.rows, seen.left_out])
            options.known.write_text(text, encoding="utf-8")
    print(f"{len(seen.seconds)} tests, {sum(seen.seconds.values()):.0f} s")
    assert "devlint" not in sys.modules, "a mutant would have no effect"
    judged = judgements()
    totals = Counter[str]()
    operators = defaultdict[str, Counter[str]](Counter)
    lines: list[str] = []
    unread: list[dict[str, str | int]] = []
    for name, paths in rooms.items():
        results = Counter[str]()
        print(f"\n{name}")
        files = [each for path in paths for each in sorted(path.rglob("*.py")) or [path]]
        for mutant in drawn(ROOT, files, options.count, options.seed):
            if not results:  # what the tests say of no change at all
                same = replace(mutant, text=(ROOT / mutant.path).read_text(encoding="utf-8"))
                assert tried(same, seen) == "survived", mutant.path
            start = time.perf_counter()
            outcome = tried(mutant, seen)
            spent = time.perf_counter() - start
            print(f"{spent:5.1f} s {outcome} {mutant.path}", file=sys.stderr, flush=True)
            results[outcome] += 1
            operators[mutant.operator][outcome] += 1
            if outcome == "survived":
                reason = judged.get(mutant.key)
                results["explained"] += reason is not None
                print(mutant, f"    {reason or 'nobody has read it'}", sep="\n", flush=True)
                if reason is None:
                    unread.append(dict(zip(KEYS, mutant.key, strict=True)))
        totals += results
        lines.append(_line(name, results))
    print("", *lines, _line("all", totals), sep="\n")
    print(
        "\nby operator:", *(_line(name, each) for name, each in sorted(operators.items())), sep="\n"
    )
    if options.sheet:
        options.sheet.write_text("".join(json.dumps(each) + "\n" for each in unread))


def _line(name: str, results: Counter[str]) -> str:
    died = results["killed"] + results["timed out"]
    count = died + results["survived"]
    left = results["survived"] - results["explained"]
    return (
        f"{name:12} {results['killed']:4} killed {results['timed out']:3} timed out "
        f"{results['survived']:4} survived, {left} not explained; died: {share(died, count)}; "
        f"without the explained: {share(died, died + left)}"
    )


if __name__ == "__main__":
    main()
