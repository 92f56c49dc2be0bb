"""What kind of mistake an error about devices is: PyTorch's text tells the kind."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from devlint.crashes.messages import Kind, Words, read_words
from devlint.crashes.remedies import REMEDIES
from devlint.runtime.explaining.backwards import wrong_gradient
from devlint.runtime.explaining.computed import deciding
from devlint.runtime.explaining.from_text import by_text
from devlint.runtime.explaining.generators import generator_elsewhere
from devlint.runtime.explaining.loaders import pinned_by_loader
from devlint.runtime.explaining.lookup import Named
from devlint.runtime.explaining.meetings import meeting
from devlint.runtime.explaining.mistakes import Mistake, described, discarded, origin
from devlint.runtime.explaining.naming import because, behind, named_pair
from devlint.runtime.explaining.optimizers import is_optimizer_at_work, not_a_leaf, of_optimizer
from devlint.runtime.explaining.replicas import replica
from devlint.runtime.explaining.scene import Scene, is_same
from devlint.runtime.explaining.source import may_be_elsewhere
from devlint.runtime.explaining.surroundings import not_loaded, without_backend
from devlint.runtime.operands import OperandFacts, is_tensor, unknown

Operands = Sequence[OperandFacts]


def diagnose(scene: Scene, text: str, operands: Operands) -> Mistake | None:
    """Say what PyTorch's text, the operands and the frames together tell."""
    words = read_words(text)
    if words is None:
        return None
    teller = _TELLERS.get(words.kind)
    found = None if teller is None else teller(scene, words, operands)
    return found or by_text(scene, words)


def _on_host(scene: Scene, words: Words, operands: Operands) -> Mistake | None:
    """`.numpy()` and what else reads a tensor on the host."""
    facts, named = _single(scene, operands, lambda device: device != "cpu")
    if facts is None:
        return None
    index = scene.use
    is_numpy = words.kind == "numpy"
    text = named.text if named is not None else "the tensor"
    wanted = "numpy" if is_numpy else words.operation
    lines = [described("operand", "" if named is None else text, facts)]
    source, part = behind(scene, facts, named, index)
    lines += because(named, part, facts.device)
    lines += origin(scene, source, text if part is None else part.text, index)
    thrown_away = discarded(scene, text, index, "cpu")
    rule = "cpu-only-argument"
    if is_numpy:
        is_method = ".numpy(" in scene.failing_text(index)
        rule = "numpy-on-accelerator" if is_method else "accelerator-tensor-in-host-library"
    if thrown_away:
        fix, rule = thrown_away, "discarded-move"
    else:
        is_attached = facts.requires_grad and is_numpy and not text.endswith(".detach()")
        calls = ".detach().cpu()" if is_attached else ".cpu()"
        if scene.failing_text(index).endswith(".numpy()"):
            calls += ".numpy()"
        fix = f"copy it to the host first: {'' if named is None else text}{calls}"
        listed = re.fullmatch(r"([A-Za-z_][\w.]*)\[\d+\]", text)
        if listed is not None and not is_tensor(scene.value(listed[1], index)):
            each = f"[each{calls} for each in {listed[1]}]"
            fix = f"copy them to the host first: {listed[1]} = {each}"
    head = f"{text} is on {facts.device}, {wanted} needs it on cpu"
    return _one(scene, head, lines, fix, rule, "" if named is None else text, facts)


def _index(scene: Scene, words: Words, operands: Operands) -> Mistake | None:
    if len(operands) >= 2:
        base, index = operands[0], operands[-1]
    else:
        found = [
            scene.reader.facts(named.text, named.tensor)
            for named in (scene.operands(scene.use) if scene.use >= 0 else ())
            if named.tensor is not None
        ]
        strangers = [facts for facts in found if facts.device not in ("cpu", words.home)]
        bases = [facts for facts in found if facts.device == words.home]
        if len(strangers) != 1 or not bases:
            return None
        base, index = bases[0], strangers[0]
    owners, same = scene.owners, is_same(base)
    if (
        scene.inside is not None
        or owners.plain_attribute(same)
        or owners.of_tensor(same)
        or _is_wanted_on(scene, index.device)
    ):
        return meeting(scene, (base, index), words.text)  # the index is a library's, or right
    its_name, name = named_pair(scene, base, index)
    base_text = its_name.text if its_name is not None else "the tensor"
    text = name.text if name is not None else "the index"
    lines = [
        described("operand", base_text if its_name else "", base),
        *origin(scene, base, base_text, scene.use),
        described("index", text if name else "", index),
        *origin(scene, index, text, scene.use),
    ]
    home = f"{scene.home_label}: " if scene.home_label else ""
    indexed = f"{text} indexes it from" if name is not None else "its index on"
    head = f"{home}{base_text} is on {base.device}, and {indexed} {index.device}"
    simple = its_name is not None and name is not None
    fix = f"move the index: {text}.to({base_text}.device)" if simple else "move the index"
    return Mistake(
        head,
        lines,
        fix,
        "index-on-other-device",
        module=scene.home_label,
        argument=text if name is not None else "",
        devices=(index.device, base.device),
        is_mismatch=True,
    )


def _is_wanted_on(scene: Scene, device: str) -> bool:
    """Whether the failing part of a line meets something on a device in the same expression."""
    if scene.use < 0:
        return False
    source = scene.source(scene.use)
    part, statement = source.failing, source.statement
    if part is None or statement is None:
        return False
    found = [node for node in ast.walk(statement) if part in ast.walk(node)]
    for node in reversed(found):  # the innermost first
        if may_be_elsewhere(node):
            return False
        is_meeting = isinstance(node, (ast.BinOp, ast.Compare, ast.Call)) and node is not part
        for other in ast.iter_child_nodes(node) if is_meeting else ():
            met = None if other in found else deciding(other, source, scene.device)
            if met is not None and scene.is_on(met.tensor, device):
                return True
    return False


def _pinned(scene: Scene, words: Words, operands: Operands) -> Mistake | None:
    facts, named = _single(scene, operands, lambda device: device != "cpu")
    if facts is None:
        return None
    by_loader = pinned_by_loader(scene, facts) if named is None else None
    if by_loader is not None:
        return by_loader
    text = named.text if named is not None else "the tensor"
    lines = [described("operand", "" if named is None else text, facts)]
    lines += origin(scene, facts, text, scene.use)
    head = f"{text} is on {facts.device}, and only host memory can be pinned"
    remedy = REMEDIES["pinned"]
    return _one(scene, head, lines, remedy.fix, remedy.rule, "" if named is None else text, facts)


def _argument(scene: Scene, words: Words, operands: Operands) -> Mistake | None:
    """An argument that is read on the host whatever it is for."""
    label = words.kind
    given = [facts for facts in operands if facts.name == label] or _in_torch(scene, label)
    facts, named = _single(scene, given or operands, lambda device: device != "cpu")
    if facts is None or (named is None and label != "lengths"):
        return None
    text = label if named is None else named.text
    own = scene.as_named(facts, named)
    found = origin(scene, own, text, scene.use)
    fix = f"copy the {label} to the host: {text}.cpu()"
    if any("load(" in line for _, line in found):
        fix = f'load it with map_location="cpu", or {fix}'
    head = f"{text}, {_ARGUMENTS[label]}, is on {facts.device}, and is needed on cpu"
    lines = [described(label, text, own), *found]
    return _one(scene, head, lines, fix, "cpu-only-argument", text, facts)


_ARGUMENTS: Mapping[Kind, str] = {
    "lengths": "the lengths of the sequences",
    "state": "the state of random numbers",
}


def _one(
    scene: Scene,
    head: str,
    lines: Sequence[tuple[str, str]],
    fix: str,
    rule: str,
    argument: str,
    facts: OperandFacts,
) -> Mistake:
    """A mistake with one tensor, which the host wants to read."""
    return Mistake(
        head,
        lines,
        fix,
        rule,
        module=scene.home_label,
        argument=argument,
        devices=(facts.device, "cpu"),
    )


def _single(
    scene: Scene, operands: Operands, wanted: Callable[[str], bool]
) -> tuple[OperandFacts | None, Named | None]:
    """The one operand that an error is about, as the failing line writes it."""
    if scene.use < 0:
        return (operands[0] if operands else None), None
    found = [facts for facts in operands if wanted(facts.device)]
    if found:
        return found[0], named_pair(scene, found[0], found[0])[0]
    written = [
        (scene.reader.facts(named.text, named.tensor), named)
        for named in scene.operands(scene.use)
        if named.tensor is not None
    ]
    strange = [pair for pair in written if wanted(pair[0].device)]
    strange = strange or list(_computed(scene, wanted))
    alike = {named.text.partition("[")[0] for _, named in strange}
    return strange[0] if len(alike) == 1 else (None, None)


def _computed(scene: Scene, wanted: Callable[[str], bool]) -> Iterator[tuple[OperandFacts, Named]]:
    """What the failing line computes of tensors that are all in one place."""
    for named in scene.operands(scene.use):
        part = deciding(named.node, scene.source(scene.use), scene.device)
        if named.tensor is None and part is not None and part.tensor is not None:
            facts = unknown(named.text, scene.device(part.tensor))
            if wanted(facts.device):
                yield replace(facts, requires_grad=part.tensor.requires_grad), named


def _in_torch(scene: Scene, name: str) -> list[OperandFacts]:
    """An argument of a function of torch that the failing line has called."""
    for spot in scene.stack[scene.use + 1 :]:
        value = spot.names.get(name)
        if is_tensor(value):
            return [scene.reader.facts(name, value)]
    return []


def _meeting(scene: Scene, words: Words, operands: Operands) -> Mistake | None:
    found = meeting(scene, operands, words.text)
    if found is not None and is_optimizer_at_work(scene):
        return of_optimizer(scene, found)
    return found


_TELLERS: Mapping[Kind, Callable[[Scene, Words, Operands], Mistake | None]] = {
    "meeting": _meeting,
    "index": _index,
    "numpy": _on_host,
    "host": _on_host,
    "generator": generator_elsewhere,
    "gradient": wrong_gradient,
    "pinned": _pinned,
    "lengths": _argument,
    "state": _argument,
    "leaf": not_a_leaf,
    "load": not_loaded,
    "backend": without_backend,
    "replica": replica,
}
"""Kinds of which frames know more than the text."""
