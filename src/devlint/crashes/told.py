"""What is known of an error of which there is only text.

The lines that stand in the text are read, and no file: it may come from another machine. Which
operand was on the wrong device is said where PyTorch names it, or where only one can be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from devlint.config import rulebook
from devlint.crashes.lines import lines_of
from devlint.crashes.messages import Words, read_words
from devlint.crashes.operands import is_maker, operands_named
from devlint.crashes.pytest_failures import failures_in
from devlint.crashes.remedies import (
    INPUTS,
    REMEDIES,
    Remedy,
    Said,
    named_by_torch,
    said_of,
    said_of_meeting,
)
from devlint.crashes.scene import (
    LONGEST_SOURCE,
    Scene,
    caller_of,
    own_line,
    parsed,
    parts_of,
    shown,
)
from devlint.crashes.tracebacks import Crash, crashes_in

_LONGEST_MESSAGE = 1000
_ALONE = re.compile(r"\b[A-Z]\w{0,60}(?:Error|Exception): (?P<message>.{1,2000})")


@dataclass(frozen=True, slots=True)
class Told:
    """An error of a text, explained."""

    headline: str
    lines: tuple[tuple[str, str], ...]
    """Each with a label."""
    code: str
    """Of the rule that speaks of it, and its name; empty where there is none."""
    rule: str
    fix: str
    file: str
    """The line of the program, as the text names it; empty where it has no traceback."""
    line: int
    argument: str
    """The operand on the wrong device, as the line writes it; empty where that isn't known."""
    devices: tuple[str, ...]
    count: int
    """How often the text has it."""


def explain_text(text: str) -> list[Told]:
    """The errors about devices in a text, each once."""
    found: dict[tuple[str, int, str], tuple[Crash, Words, int]] = {}
    for crash in _all(text):
        words = read_words(crash.message[:_LONGEST_MESSAGE])
        if words is None:
            continue
        own = own_line(crash.frames)
        key = ("", 0, "") if own is None else (own.file, own.line, own.name)
        key = (*key[:2], key[2] + crash.message.partition("\n")[0])
        known = found.get(key)
        found[key] = (crash, words, 1) if known is None else (*known[:2], known[2] + 1)
    return [_told(*each) for each in found.values()]


def _all(text: str) -> Iterator[Crash]:
    """The errors with their tracebacks, and those that stand alone."""
    known: set[str] = set()
    for crash in chain(crashes_in(text), failures_in(lines_of(text))):
        known |= {line.strip() for line in crash.message.split("\n")}
        yield crash
    for number, line in enumerate(lines_of(text), 1):
        match = _ALONE.search(line[:4000])
        if match is not None and match[0].strip() not in known:
            if len(known) > _MOST_ALONE:
                return
            known.add(match[0].strip())
            if not any(match["message"] in each for each in known - {match[0].strip()}):
                yield Crash((), match[0], "", number)


_MOST_ALONE = 1000


def _told(crash: Crash, words: Words, count: int) -> Told:
    own = own_line(crash.frames)
    scene = Scene(own, crash.frames)
    said = _meeting(scene, words) if words.kind == "meeting" else _of_call(scene, words)
    lines = [*said.lines]
    if crash.sender:
        lines.insert(0, ("raised in", crash.sender))
    if own is not None:
        lines.append(("used at", shown(own)))
        caller = caller_of(crash.frames, own)
        if caller is not None:
            lines.append(("called at", shown(caller)))
    page = rulebook.pages().get(said.remedy.rule)
    code = "" if page is None else page.code
    if said.remedy.fix:
        lines.append(("fix", f"{said.remedy.fix}  [{code}]" if code else said.remedy.fix))
    if page is not None:
        lines.append(("more", f"devlint rule {code}, {page.url}"))
    lines.append(("torch", crash.message.partition("\n")[0][:LONGEST_SOURCE]))
    return Told(
        headline=said.headline,
        lines=tuple(lines),
        code=code,
        rule=said.remedy.rule,
        fix=said.remedy.fix,
        file="" if own is None else own.file,
        line=0 if own is None else own.line,
        argument=said.argument,
        devices=tuple(device for device in (words.device, words.home) if device),
        count=count,
    )


# --- what it says


def _of_call(scene: Scene, words: Words) -> Said:
    return said_of(words, scene.text, scene.node)


def _meeting(scene: Scene, words: Words) -> Said:
    if not (words.device and words.home):
        head = f"{scene.text or words.operation or 'an operation'} takes tensors of several devices"
        return Said(head, REMEDIES["meeting"])
    (name, device), (_, home) = words.operands[:2]
    if scene.steps:
        head = f"{scene.text} works on parameters, gradients and states of {home} and {device}"
        return Said(head, REMEDIES["optimizer"])
    parts = [ast.unparse(part) for part in parts_of(scene.node)]
    what = scene.text or words.operation or "an operation"
    lines = named_by_torch(words)
    if scene.calls_layer and isinstance(scene.node, ast.Call):
        callee = ast.unparse(scene.node.func)
        if (name in INPUTS or not name) and len(parts) == 1 and device == "cpu":
            head = said_of_meeting(words, what, callee, parts[0])
            lines += _made(scene, parts[0])
            fix = f"move it before the call: {parts[0]}.to(next({callee}.parameters()).device)"
            return Said(head, Remedy("input-on-other-device", fix), tuple(lines), parts[0])
        head = f"{what} has its input and its parameters on {device} and {home}"
        fix = f"move what is on {device} to {home} before this line: the input, or the module"
        return Said(head, Remedy("input-on-other-device", fix), tuple(lines))
    stray, others = operands_named(scene.node, name, words.operation)
    strays = [part for part in parts if _makes_on_cpu(scene, part)] if device == "cpu" else []
    if not stray and len(strays) == 1:
        stray, others = strays[0], [part for part in parts if part not in strays]
    if stray:
        lines += _made(scene, stray)
        target = f"{others[0]}.device" if len(others) == 1 else f'"{home}"'
        head = said_of_meeting(words, what, "", stray)
        remedy = Remedy(REMEDIES["meeting"].rule, f"move it first: {stray}.to({target})")
        return Said(head, remedy, tuple(lines), stray)
    head = f"{what} takes tensors on {home} and {device}"
    if parts:
        lines.append(("takes", ", ".join(parts)))
    fix = f"move the one on {device} to {home} before this line"
    return Said(head, Remedy(REMEDIES["meeting"].rule, fix), tuple(lines))


def _made(scene: Scene, name: str) -> list[tuple[str, str]]:
    """The line that is shown and has made a tensor."""
    made = scene.creation(name)
    if made is None or scene.own is None:
        return []
    return [("made at", f"{scene.own.file}:{made[0]}  {scene.own.near[made[0]].strip()}")]


def _makes_on_cpu(scene: Scene, text: str) -> bool:
    """Whether an operand is made right here, or on a line that is shown, without a device."""
    made = scene.creation(text)
    call = parsed(text) if made is None else made[1]
    return (
        isinstance(call, ast.Call)
        and is_maker(call)
        and not any(keyword.arg == "device" for keyword in call.keywords)
    )
