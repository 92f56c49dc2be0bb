"""What code does on an accelerator, as data: loads the cases beside this file and runs one.

A file of cases has `[[case]]` tables, and `[[matrix]]` tables that stand for many cases:

    [[case]]
    id = "add-vectors"                  # one of its kind in all files
    setup = 'x = torch.ones(3)'         # run first; what it raises is a mistake in the case
    code = 'x + x.cuda()'               # the value of the last expression is the result
    raises = "RuntimeError: Expected"   # how 'Type: text' begins, or a table (see below)
    contains = "cpu"                    # what the text of the error has besides
    device = "cuda:0"                   # where each tensor of the result is; or a list of places
    value = "3"                         # repr() of a result that is no tensor
    known = "source"                    # "seen" on a card, "source": read, "derived": concluded
    basis = "aten/src/ATen/TensorIterator.cpp"
    devices = 2                         # accelerators needed, 1 unless said
    torch = ">=2.6"                     # the releases that the case speaks of, all unless said
    differs = "one stream of numbers"   # why the emulation does something else, where it means to

A case without `raises` must pass, whatever it returns if neither `device` nor `value` is given.

A `[[matrix]]` has `operations` and a list of tables `mix`: there is one case for each operation in
each mix, with the id "matrix-operation-mix". `operations` maps names to code, or to tables that
have `code` and other fields for the text. A mix has a `name`, the fields of a case (which those of
the matrix precede) and whatever else the code has in braces; where such a value is a key of the
matrix's `operands`, it stands for the code there. `only` and `skip` list names of operations.

`raises` may be a table: `text` is the name of a row of texts.toml, the others fill its braces. The
texts are those of the newest release. A row whose words have changed has `since`, the release that
has these words, and `before`: how the text begins in every release. Under an older torch that
beginning is all that is compared, and the type.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
TEXTS = HERE / "texts.toml"
OUTCOMES = HERE / "outcomes"
KNOWN = ("seen", "source", "derived")
FIELDS = frozenset(
    "setup code raises contains device value known basis devices torch differs".split(),
)

Version = tuple[int, ...]


def release(text: str) -> Version:
    """The numbers a version begins with: (2, 13) for "2.13.0+cpu"."""
    found = re.match(r"\d+\.\d+", text)
    if found is None:
        raise ValueError(f"not a version: {text!r}")
    return tuple(int(part) for part in found[0].split("."))


TORCH = release(torch.__version__)


@dataclass(frozen=True)
class Case:
    """Code, and what an accelerator makes of it."""

    id: str
    theme: str
    code: str
    known: str
    basis: str
    setup: str = ""
    raises: str | None = None
    contains: str = ""
    device: str | tuple[str, ...] | None = None
    value: str | None = None
    devices: int = 1
    torch: str = ""
    differs: str = ""

    @property
    def digest(self) -> str:
        """Stands for the code of the case: an outcome of other code says nothing of it."""
        return hashlib.sha256(f"{self.setup}\0{self.code}".encode()).hexdigest()[:12]

    def concerns(self, version: Version) -> bool:
        """Whether the case speaks of this release of torch."""
        for bound in filter(None, self.torch.split(",")):
            found = re.fullmatch(r"\s*(>=|<)\s*(\S+)\s*", bound)
            if found is None:
                raise ValueError(f"{self.id}: not a bound: {bound!r}")
            if (version >= release(found[2])) != (found[1] == ">="):
                return False
        return True


@dataclass(frozen=True)
class Outcome:
    """What running a case came to: an error as 'Type: text', or places and the value."""

    raised: str | None = None
    devices: tuple[str, ...] = ()
    value: str | None = None

    def __str__(self) -> str:
        if self.raised is not None:
            return f"raises {self.raised}"
        places = f"tensors on {', '.join(self.devices)}" if self.devices else "no tensor"
        return f"passes: {places}, value {self.value}"

    def record(self) -> dict[str, Any]:
        """For a file; `read` is the way back."""
        if self.raised is not None:
            return {"raised": self.raised}
        return {"devices": list(self.devices), "value": self.value}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Outcome:
        return cls(record.get("raised"), tuple(record.get("devices", ())), record.get("value"))


@dataclass(frozen=True)
class Seen:
    """The outcomes on a card, by the id of the case, with the digest of the code that was run."""

    name: str
    card: str
    torch: str
    outcomes: Mapping[str, tuple[str, Outcome]]

    def of(self, cases: Iterable[Case]) -> dict[str, Outcome]:
        """The outcomes of those cases that were run as they are now."""
        found = ((case, *self.outcomes.get(case.id, ("", Outcome()))) for case in cases)
        return {case.id: outcome for case, digest, outcome in found if digest == case.digest}

    @classmethod
    def read(cls, path: Path) -> Seen:
        data = json.loads(path.read_text("utf-8"))
        outcomes = {
            name: (record["code"], Outcome.read(record))
            for name, record in data["outcomes"].items()
        }
        return cls(path.stem, data["card"], data["torch"], outcomes)


def seen() -> list[Seen]:
    """What was seen on cards."""
    return [Seen.read(path) for path in sorted(OUTCOMES.glob("*.json"))]


# --- from data to cases ----------------------------------------------------------------------


@cache
def texts() -> dict[str, dict[str, str]]:
    return tomllib.loads(TEXTS.read_text("utf-8"))


def filled(template: str, fields: Mapping[str, str]) -> str:
    """`template` with the braces of `fields` filled, all other braces left: they are code."""
    for name, text in fields.items():
        template = template.replace("{" + name + "}", text)
    return template


def text_of(raises: str | Mapping[str, str], version: Version) -> str:
    """How 'Type: text' begins under this release."""
    if isinstance(raises, str):
        return raises
    row = {**texts()[raises["text"]], **raises}
    if "since" in row and version < release(row["since"]):
        return row["before"]
    return filled(texts()[raises["text"]]["text"], row)


def case_of(name: str, theme: str, table: Mapping[str, Any], version: Version) -> Case:
    fields = dict(table)
    if unknown := fields.keys() - FIELDS:
        raise ValueError(f"{theme}: {name}: unknown fields {sorted(unknown)}")
    if "raises" in fields:
        fields["raises"] = text_of(fields["raises"], version)
    if isinstance(fields.get("device"), list):
        fields["device"] = tuple(fields["device"])
    case = Case(id=name, theme=theme, **fields)
    if case.known not in KNOWN:
        raise ValueError(f"{theme}: {name}: known is {case.known!r}")
    if case.raises is not None and (case.device is not None or case.value is not None):
        raise ValueError(f"{theme}: {name}: a case that raises has no result")
    return case


def expanded(matrix: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The id and the fields of each case a matrix stands for."""
    operands = matrix.get("operands", {})
    shared = {name: value for name, value in matrix.items() if name in FIELDS}
    for mix in matrix["mix"]:
        fields = shared | {name: value for name, value in mix.items() if name in FIELDS}
        slots = {
            name: operands.get(value, value)
            for name, value in mix.items()
            if isinstance(value, str) and name not in FIELDS
        }
        for name, operation in matrix["operations"].items():
            if name not in mix.get("only", matrix["operations"]) or name in mix.get("skip", ()):
                continue
            parts = {"code": operation} if isinstance(operation, str) else operation
            words = slots | {key: value for key, value in parts.items() if key != "code"}
            whole = {**fields, "code": parts["code"]}
            yield f"{matrix['id']}-{name}-{mix['name']}", filled_in(whole, words)


def filled_in(fields: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a case with the words of its operation and its mix in them."""
    whole: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, str):
            whole[name] = filled(value, words)
        elif isinstance(value, dict):
            whole[name] = {key: filled(text, words) for key, text in value.items()}
        else:
            whole[name] = value
    return whole


def cases_in(path: Path, version: Version) -> Iterator[Case]:
    """The cases of one file, matrices expanded."""
    data = tomllib.loads(path.read_text("utf-8"))
    if unknown := data.keys() - {"case", "matrix"}:
        raise ValueError(f"{path.name}: unknown tables {sorted(unknown)}")
    for table in data.get("case", ()):
        fields = {name: value for name, value in table.items() if name != "id"}
        yield case_of(table["id"], path.stem, fields, version)
    for matrix in data.get("matrix", ()):
        for name, fields in expanded(matrix):
            yield case_of(name, path.stem, fields, version)


def files() -> list[Path]:
    """The files of cases."""
    return [path for path in sorted(HERE.glob("*.toml")) if path != TEXTS]


def load(version: Version = TORCH) -> list[Case]:
    """Every case, in the words of this release. Raises ValueError where the data is wrong."""
    cases: dict[str, Case] = {}
    for path in files():
        for case in cases_in(path, version):
            if case.id in cases:
                raise ValueError(f"{path.name}: {case.id}: there is another case of this name")
            cases[case.id] = case
    return list(cases.values())


# --- from a case to its outcome --------------------------------------------------------------


def last_value(code: str, names: dict[str, Any]) -> Any:
    """Run `code`; the value of its last statement if that is an expression, or None."""
    body = ast.parse(code).body
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr):
        exec(compile(ast.Module(body, []), "<case>", "exec"), names)
        return None
    exec(compile(ast.Module(body[:-1], []), "<case>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<case>", "eval"), names)


def tensors_in(result: object) -> Iterable[torch.Tensor]:
    """The tensors of a result, in order, those in containers and modules included."""
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, nn.Module):
        yield from result.parameters()
        yield from result.buffers()
    elif isinstance(result, Mapping):
        for value in result.values():
            yield from tensors_in(value)
    elif isinstance(result, list | tuple):
        for value in result:
            yield from tensors_in(value)


def settle() -> None:
    """Undo what a case may have set for the whole process."""
    torch.set_default_device(None)
    torch.set_default_tensor_type(torch.FloatTensor)
    torch.set_grad_enabled(True)
    torch.manual_seed(0)
    if torch.cuda.is_available() and not torch.cuda._is_in_bad_fork():
        torch.cuda.set_device(0)


def run(case: Case) -> Outcome:
    """Run a case on whatever `cuda` means here. Raises what its `setup` raises."""
    module = ModuleType("case")
    names = vars(module)
    names.update({"torch": torch, "nn": nn, "F": F, "np": np})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settle()
        sys.modules["case"] = module  # torch.compile looks for it
        try:
            exec(compile(case.setup, "<setup>", "exec"), names)
            return outcome_of(case.code, names)
        finally:
            del sys.modules["case"]
            settle()


def outcome_of(code: str, names: dict[str, Any]) -> Outcome:
    try:
        result = last_value(code, names)
    except Exception as error:
        return Outcome(raised=f"{type(error).__name__}: {error}")
    devices = tuple(str(tensor.device) for tensor in tensors_in(result))
    return Outcome(devices=devices, value=None if devices else repr(result))


def on_cpu(case: Case) -> Case:
    """The case with every accelerator in its code replaced by the CPU."""

    def replaced(code: str) -> str:
        code = re.sub(r"""(["'])cuda(:\d+)?\1""", '"cpu"', code)
        return re.sub(r"\.cuda\([^()]*\)", ".cpu()", code)

    return replace(case, setup=replaced(case.setup), code=replaced(case.code))


def difference(case: Case, outcome: Outcome) -> str | None:
    """What is expected of the case, where the outcome is another; None where it fits."""
    if case.raises is not None:
        if outcome.raised is None or not outcome.raised.startswith(case.raises):
            return f"raises {case.raises}"
        if case.contains not in outcome.raised:
            return f"an error whose text has {case.contains!r}"
        return None
    if outcome.raised is not None:
        return "passes"
    if isinstance(case.device, str):
        if not outcome.devices or set(outcome.devices) != {case.device}:
            return f"tensors on {case.device}"
    elif case.device is not None and outcome.devices != case.device:
        return f"tensors on {', '.join(case.device)}"
    if case.value is not None and outcome.value != case.value:
        return f"value {case.value}"
    return None


def agree(case: Case, emulated: Outcome, real: Outcome) -> bool:
    """Whether two outcomes are the same, or both are what the data expects.

    Only the first lines of errors are compared: the rest is advice, and names files.
    """
    if difference(case, emulated) is None and difference(case, real) is None:
        return True
    if emulated.raised is None or real.raised is None:
        return emulated == real
    return emulated.raised.partition("\n")[0] == real.raised.partition("\n")[0]
