"""Joins what the shards of one run have written to what the run would have written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from devlint.model.findings import Coverage
from devlint.safety.escaping import json_text

Json = dict[str, Any]
_MOST = 10_000
"""Shards of one run."""


class MergeError(Exception):
    """These aren't the shards of one run; the text says why, on one line."""


@dataclass(frozen=True, slots=True)
class Output:
    """What one shard has written. `name` is that of its file; `shard` says which part it is."""

    name: str
    shard: Json
    is_sarif: bool
    document: Json


@dataclass(frozen=True, slots=True)
class Merged:
    """What the run would have written and ended with, and what it couldn't do."""

    text: str
    exit_code: int
    failures: list[tuple[str, str]]


def read(name: str, data: bytes) -> Output:
    """What a file holds that a shard has written. Raises `MergeError`."""
    try:
        return _read(name, json.loads(data))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise MergeError(
            f"{name}: it is no JSON or SARIF that `devlint --shard` has written"
        ) from error


def _read(name: str, document: Any) -> Output:
    """The same of a document. Raises whatever Python does where it isn't one."""
    is_sarif = "runs" in document
    (run,) = document["runs"] if is_sarif else (document,)
    shard = run["properties"]["shard"] if is_sarif else run["shard"]
    wanted = {"number": int, "of": int, "partition": str, "exit_code": int}
    kinds = [type(shard[key]) is kind for key, kind in wanted.items()]
    kinds += [type(word) is str for each in shard["failures"] for word in _failure(each)]
    is_one = all(kinds) and 1 <= shard["number"] <= shard["of"] <= _MOST
    if not is_one or shard["exit_code"] not in (0, 1, 2):
        raise ValueError(shard)
    output = Output(name, shard, is_sarif, document)
    _whole([output])  # what can't be joined fails here, and is named
    return output


def merge(outputs: Sequence[Output]) -> Merged:
    """Join the outputs of all shards of a run. Raises `MergeError`."""
    first = outputs[0]
    by_number: dict[int, Output] = {}
    for each in outputs:
        if each.is_sarif != first.is_sarif:
            raise MergeError(f"{first.name} and {each.name}: one is SARIF, and the other isn't")
        if any(each.shard[key] != first.shard[key] for key in ("of", "partition")):
            raise MergeError(
                f"{first.name} and {each.name} are shards of different runs: other files, "
                "settings, costs, or another devlint"
            )
        number = each.shard["number"]
        if number in by_number:
            other = by_number[number].name
            raise MergeError(f"{other} and {each.name}: both are shard {number}")
        by_number[number] = each
    missing = [number for number in range(1, first.shard["of"] + 1) if number not in by_number]
    if missing:
        some = ", ".join(map(str, missing[:20])) + ", ..." * (len(missing) > 20)
        are = "shard {} of {} is missing" if len(missing) == 1 else "shards {} of {} are missing"
        raise MergeError(are.format(some, first.shard["of"]))
    ordered = [by_number[number] for number in sorted(by_number)]
    failures = [_failure(each) for output in ordered for each in output.shard["failures"]]
    code = max(each.shard["exit_code"] for each in ordered)
    return Merged(json_text(_whole(ordered), indent=2) + "\n", code, list(dict.fromkeys(failures)))


def _whole(outputs: Sequence[Output]) -> object:
    documents = [each.document for each in outputs]
    return _sarif(documents) if outputs[0].is_sarif else list(_findings(documents))


def _failure(failure: Mapping[str, str]) -> tuple[str, str]:
    return failure["filename"], failure["reason"]


def _path(finding: Mapping[str, Any]) -> str:
    return str(finding["filename"])


def _path_in_sarif(result: Mapping[str, Any]) -> str:
    place = result["locations"][0]["physicalLocation"]
    return unquote(str(place["artifactLocation"]["uri"]), errors="surrogateescape")


def _findings(documents: Sequence[Json]) -> Iterator[Json]:
    """Those of all shards, file by file: each file is in one shard, in order."""
    every = (finding for document in documents for finding in document["findings"])
    yield from sorted(every, key=_path)


def _sarif(documents: Sequence[Json]) -> Json:
    runs = [document["runs"][0] for document in documents]
    rules: dict[str, Json] = {}
    results: list[Json] = []
    notifications: dict[str, Json] = {}
    decided, unknown = 0, Counter[str]()
    by_policy, less_certain = Counter[str](), 0
    for run in runs:
        for rule in run["tool"]["driver"]["rules"]:
            rules.setdefault(rule["id"], rule)
        results += run["results"]
        for notification in run["invocations"][0].get("toolExecutionNotifications", ()):
            notifications.setdefault(json.dumps(notification, sort_keys=True), notification)
        properties = run["properties"]
        decided += properties["coverage"]["decided"]
        unknown.update(properties["coverage"]["unknown"])
        by_policy.update(properties.get("withheldByPolicy", {}))
        less_certain += properties.get("lessCertain", 0)
    index = {code: place for place, code in enumerate(sorted(rules))}
    driver = {**runs[0]["tool"]["driver"], "rules": [rules[code] for code in sorted(rules)]}
    coverage = Coverage.of(decided, unknown)
    properties = {"coverage": {"decided": decided, "unknown": dict(coverage.unknown)}}
    if by_policy:
        properties["withheldByPolicy"] = dict(sorted(by_policy.items()))
    if less_certain:
        properties["lessCertain"] = less_certain
    invocation: Json = {"executionSuccessful": not notifications}
    if notifications:
        invocation["toolExecutionNotifications"] = list(notifications.values())
    whole = {
        **runs[0],
        "tool": {"driver": driver},
        "invocations": [invocation],
        "properties": properties,
        "results": [
            {**result, "ruleIndex": index[result["ruleId"]]}
            for result in sorted(results, key=_path_in_sarif)
        ],
    }
    return {**documents[0], "runs": [whole]}
