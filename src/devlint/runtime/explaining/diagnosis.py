"""What kind of mistake an error about devices is: PyTorch's text tells the kind."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from devlint.runtime.explaining.lookup import Named
from devlint.runtime.explaining.meetings import meeting
from devlint.runtime.explaining.mistakes import Mistake, described, discarded, origin
from devlint.runtime.explaining.origins import place_of
from devlint.runtime.explaining.scene import Scene
from devlint.runtime.operands import OperandFacts, is_tensor

Operands = Sequence[OperandFacts]
Kind = Callable[[Scene, "re.Match[str]", Operands], Mistake | None]


def diagnose(scene: Scene, text: str, operands: Operands) -> Mistake | None:
    """Say what PyTorch's text, the operands and the frames together tell."""
    for pattern, kind in _KINDS:
        match = pattern.search(text)
        if match is not None:
            return kind(scene, match, operands)
    return None


def _on_host(scene: Scene, match: re.Match[str], operands: Operands) -> Mistake | None:
    """`.numpy()` and what else reads a tensor on the host."""
    facts, named = _single(scene, operands, lambda device: device != "cpu")
    if facts is None:
        return None
    index = scene.use
    is_numpy = "numpy" in match[0]
    text = named.text if named is not None else "the tensor"
    wanted = "numpy" if is_numpy else match[1]
    lines = [described("operand", "" if named is None else text, facts)]
    lines += origin(scene, facts.site, text, index)
    thrown_away = discarded(scene, text, index, "cpu")
    rule = "numpy-on-accelerator" if is_numpy else ""
    if thrown_away is not None:
        line, statement = thrown_away
        where = place_of(scene.stack[index].file, line)
        fix, rule = f"assign the result at {where}: {statement}", "discarded-move"
    else:
        calls = ".detach().cpu()" if facts.requires_grad and is_numpy else ".cpu()"
        if scene.failing_text(index).endswith(".numpy()"):
            calls += ".numpy()"
        fix = f"copy it to the host first: {'' if named is None else text}{calls}"
    return Mistake(f"{text} is on {facts.device}, {wanted} needs it on cpu", lines, fix, rule)


def _index(scene: Scene, match: re.Match[str], operands: Operands) -> Mistake | None:
    if len(operands) >= 2:
        base, index = operands[0], operands[-1]
    else:
        found = [
            scene.reader.facts(named.text, named.tensor)
            for named in (scene.operands(scene.use) if scene.use >= 0 else ())
            if named.tensor is not None
        ]
        strangers = [facts for facts in found if facts.device not in ("cpu", match[1])]
        bases = [facts for facts in found if facts.device == match[1]]
        if len(strangers) != 1 or not bases:
            return None
        base, index = bases[0], strangers[0]
    its_name, name = scene.named_pair(base, index)
    base_text = its_name.text if its_name is not None else "the tensor"
    text = name.text if name is not None else "the index"
    lines = [
        described("operand", base_text if its_name else "", base),
        *origin(scene, base.site, base_text, scene.use),
        described("index", text if name else "", index),
        *origin(scene, index.site, text, scene.use),
    ]
    home = f"{scene.label(scene.home.module)}: " if scene.home is not None else ""
    indexed = f"{text} indexes it from" if name is not None else "its index on"
    head = f"{home}{base_text} is on {base.device}, and {indexed} {index.device}"
    simple = its_name is not None and name is not None
    fix = f"move the index: {text}.to({base_text}.device)" if simple else "move the index"
    return Mistake(head, lines, fix, "index-on-other-device")


def _generator(scene: Scene, match: re.Match[str], operands: Operands) -> Mistake | None:
    wanted, found = match[1], match[2]
    lines = []
    written = _keyword(scene, "generator")
    if written:
        lines.append(("generator", f"{written}: on {found}"))
        lines += origin(scene, None, written, scene.use)
    return Mistake(
        f"the generator is on {found}, but the numbers are to be on {wanted}",
        lines,
        f'make it for that device: torch.Generator(device="{wanted}")',
    )


def _keyword(scene: Scene, name: str) -> str:
    if scene.use < 0:
        return ""
    source = scene.source(scene.use)
    for node in ast.walk(source.failing) if source.failing is not None else ():
        if isinstance(node, ast.keyword) and node.arg == name:
            return source.text_of(node.value)
    return ""


def _pinned(scene: Scene, match: re.Match[str], operands: Operands) -> Mistake | None:
    facts, named = _single(scene, operands, lambda device: device != "cpu")
    if facts is None:
        return None
    text = named.text if named is not None else "the tensor"
    lines = [described("operand", "" if named is None else text, facts)]
    lines += origin(scene, facts.site, text, scene.use)
    return Mistake(
        f"{text} is on {facts.device}, and only memory of the host can be pinned",
        lines,
        "pin it before it is moved, or leave the pinning out",
    )


def _lengths(scene: Scene, match: re.Match[str], operands: Operands) -> Mistake | None:
    lengths = [facts for facts in operands if facts.name == "lengths"]
    lengths = lengths or _in_torch(scene, "lengths")
    facts, named = _single(scene, lengths, lambda device: device != "cpu")
    if facts is None:
        return None
    text = named.text if named is not None else "lengths"
    lines = [described("lengths", text, facts), *origin(scene, facts.site, text, scene.use)]
    return Mistake(
        f"{text}, the lengths of the sequences, is on {facts.device}, and is needed on cpu",
        lines,
        f"copy the lengths to the host: {text}.cpu()",
    )


def _single(
    scene: Scene, operands: Operands, wanted: Callable[[str], bool]
) -> tuple[OperandFacts | None, Named | None]:
    """The one operand that an error is about, as the failing line writes it."""
    if scene.use < 0:
        return (operands[0] if operands else None), None
    found = [facts for facts in operands if wanted(facts.device)]
    if found:
        return found[0], scene.named_pair(found[0], found[0])[0]
    written = [
        (scene.reader.facts(named.text, named.tensor), named)
        for named in scene.operands(scene.use)
        if named.tensor is not None
    ]
    strange = [pair for pair in written if wanted(pair[0].device)]
    return strange[0] if len(strange) == 1 else (None, None)


def _in_torch(scene: Scene, name: str) -> list[OperandFacts]:
    """An argument of a function of torch that the failing line has called."""
    for spot in scene.stack[scene.use + 1 :]:
        value = spot.names.get(name)
        if is_tensor(value):
            return [scene.reader.facts(name, value)]
    return []


def _meeting(scene: Scene, match: re.Match[str], operands: Operands) -> Mistake | None:
    return meeting(scene, operands, match.string)


_KINDS: tuple[tuple[re.Pattern[str], Kind], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"device type tensor to numpy", _on_host),
        (r"(apply_|map_|map2_) is only implemented on CPU tensors", _on_host),
        (r"(tensor_split) expected \w+ to be on cpu", _on_host),
        (r"Expected an? '(\w+)' device type for generator but found '(\w+)'", _generator),
        (r"Expected an? '([\w:]+)' generator device but found '([\w:]+)'", _generator),
        (r"cannot pin '|[Oo]nly dense CPU tensors can be pinned", _pinned),
        (r"'lengths' argument should be", _lengths),
        (r"indices should be either on .* indexed tensor \(([\w:]+)\)", _index),
        (
            r"on the same device|at the same device|to be on same device|different devices?\b"
            r"|[Ii]nput type \(.*\) and \w+ type \(.*\) should be the same"
            r"|the same device|same device type|CPU scalars to non-CPU kernel|expected device "
            r"|but got device |is on (cpu|cuda|xpu|mps)|storage has not been allocated"
            r"|expected them to be on GPU|gradient (of type|located)|CPU Scalar support"
            r"|tensor to have (device )?[\w:]+( Device| DeviceType)?, but got",
            _meeting,
        ),
    )
)
