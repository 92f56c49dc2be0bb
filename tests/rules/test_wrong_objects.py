"""The rules about wrong objects and arguments: on facts made by hand, and against torch."""

from __future__ import annotations

import inspect

import pytest
import torch

from devlint.config.settings import Settings
from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.devicestring import Misspelling, parse
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Value
from devlint.flow.facts import (
    CPU,
    UNKNOWN,
    AttributeRead,
    AttributeWrite,
    Comparison,
    Context,
    Device,
    DeviceUse,
    Fact,
    Kind,
    Known,
    Move,
    Operand,
    Symbol,
)
from devlint.lint import check_source
from devlint.model import ir
from devlint.model.findings import Safety
from devlint.model.reports import Report
from devlint.rules import all_rules
from devlint.rules.wrong_move_argument import _LEGACY_CONSTRUCTORS, _WITHOUT_DEVICE

HERE = Context()
X = ir.Name("x")


def reports(rule: str, fact: Fact) -> list[Report]:
    checks = [each for each in all_rules() if each.name == rule and each.on is type(fact)]
    assert checks, f"no rule {rule} reads {type(fact).__name__}"
    return [report for each in checks for report in each.check(fact)]


def operand(
    node: ir.Expr,
    kind: Kind,
    device: Device = UNKNOWN,
    *,
    type_name: str = "",
    data: object = None,
    trait: Trait | None = None,
    grad: bool = False,
    trace: Step | None = None,
) -> Operand:
    value = Value(kind, device, data, trait=trait, grad=grad, trace=trace)
    return Operand(node, value, device, type_name)


def text(value: str) -> Operand:
    return operand(ir.Constant(value), Kind.STRING, data=value)


def move(receiver: Operand, method: str = "to", *args: Operand, discarded: bool = False) -> Move:
    arguments = tuple((ir.Argument(each.node), each) for each in args)
    call = ir.Call(ir.Attribute(receiver.node, method), tuple(pair[0] for pair in arguments))
    target = args[0] if args else None
    return Move(call, HERE, receiver, method, target, UNKNOWN, discarded, arguments)


def written(report: Report) -> tuple[str, ...]:
    assert report.fix is not None
    return tuple(rewrite.text for rewrite in report.fix.rewrites)


# --- DEV301 and DEV302 ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "type_name"),
    [
        (Kind.LIST, "list"),
        (Kind.DICT, "dict"),
        (Kind.NDARRAY, "ndarray"),
        (Kind.LOADER, "DataLoader"),
        (Kind.OPTIMIZER, "SGD"),
        (Kind.DATASET, "TensorDataset"),
        (Kind.NUMBER, "float"),
        (Kind.TUPLE, "tuple"),
    ],
)
def test_what_has_no_move_is_reported(kind: Kind, type_name: str) -> None:
    (found,) = reports("move-on-container", move(operand(X, kind, type_name=type_name), "cuda"))
    assert found.message == f"`x` has no `.cuda()`: its type is {type_name}"
    assert found.help


@pytest.mark.parametrize(
    "kind",
    [Kind.UNKNOWN, Kind.TENSOR, Kind.MODULE, Kind.BATCH, Kind.ENCODING, Kind.INSTANCE, Kind.BOOL],
)
def test_what_may_have_a_move_is_not_reported(kind: Kind) -> None:
    assert not reports("move-on-container", move(operand(X, kind), "to"))


def test_a_dataset_of_somebody_may_have_a_move() -> None:
    assert not reports("move-on-container", move(operand(X, Kind.DATASET, type_name="Mine"), "to"))


@pytest.mark.parametrize(
    ("node", "safety"),
    [
        (X, Safety.SAFE),
        (ir.Attribute(X, "y"), Safety.UNSAFE),
        (ir.Subscript(X, ir.Constant("y")), Safety.UNSAFE),
    ],
)
def test_a_discarded_move_is_assigned(node: ir.Expr, safety: Safety) -> None:
    receiver = operand(node, Kind.TENSOR)
    (found,) = reports("discarded-move", move(receiver, "cuda", discarded=True))
    assert written(found) == (f"{ir.render(node)} = ",)
    assert found.fix is not None
    assert found.fix.safety is safety


def test_a_chain_and_a_parameter_get_no_fix() -> None:
    detached = ir.Call(ir.Attribute(X, "detach"), ())
    for receiver in (operand(detached, Kind.TENSOR), operand(X, Kind.TENSOR, grad=True)):
        (found,) = reports("discarded-move", move(receiver, "cpu", discarded=True))
        assert found.fix is None


@pytest.mark.parametrize(
    ("body", "fixed"),
    [
        ("x.cuda()", False),
        ("print(x)\n    x.cuda()", False),
        ("x.cuda()\n    print(x)", True),
        ("if x.sum() > 0:\n        x.cuda()\n    print(x)", True),
        ("for _ in range(3):\n        x.cuda()\n    print(y)", False),
    ],
)
def test_a_name_of_a_loop_is_assigned_where_it_is_read_again(body: str, fixed: bool) -> None:
    text = f"import torch\n\nfor x, y in [(torch.ones(1), 0)]:\n    {body}\nprint(x)\n"
    findings = check_source(text.encode(), "a.py", Settings(pedantic=True))
    (found,) = (finding for finding in findings if finding.code == "DEV302")
    assert (found.fix is not None) is fixed
    assert ("store the result in" in found.help) is not fixed


@pytest.mark.parametrize(
    ("loop", "fixed"),
    [
        ("for x in rows:\n    x.cuda()", ("i, ", "enumerate(", ")", "rows[i] = ")),
        ("for x in rows:\n    i = 1\n    x.cuda()", ()),
        ("for x, y in pairs:\n    x.cuda()", ()),
        ("for x in [torch.ones(1)]:\n    x.cuda()", ()),
    ],
)
def test_what_a_loop_goes_over_keeps_the_result(loop: str, fixed: tuple[str, ...]) -> None:
    made = "rows = [torch.ones(1)]\npairs = [(torch.ones(1), 0)]\n"
    text = f"import torch\n\n{made}{loop}\n"
    findings = check_source(text.encode(), "a.py", Settings(pedantic=True))
    (found,) = (finding for finding in findings if finding.code == "DEV302")
    assert (() if found.fix is None else tuple(e.content for e in found.fix.edits)) == fixed


@pytest.mark.parametrize("kind", [Kind.MODULE, Kind.PLACED, Kind.BATCH, Kind.UNKNOWN])
def test_only_proven_tensors_are_discarded(kind: Kind) -> None:
    assert not reports("discarded-move", move(operand(X, kind), "cuda", discarded=True))


def test_a_tensor_made_on_the_spot_wakes_the_device() -> None:
    fresh = ir.Call(ir.Attribute(ir.Name("torch"), "zeros"), (ir.Argument(ir.Constant(1)),))
    receiver = operand(fresh, Kind.TENSOR, CPU, trace=Step(Sort.DEFAULT, fresh, device=CPU))
    assert not reports("discarded-move", move(receiver, "cuda", discarded=True))


# --- DEV303 and DEV309 ---------------------------------------------------------------------


def test_the_first_parameter_is_asked_for_the_device() -> None:
    read = AttributeRead(
        ir.Attribute(X, "device"), HERE, operand(X, Kind.MODULE), "device", defined=False
    )
    (found,) = reports("device-of-module", read)
    assert written(found) == ("next(", ".parameters())")
    assert found.fix is not None
    assert found.fix.safety is Safety.UNSAFE


def test_a_call_with_arguments_keeps_its_parentheses() -> None:
    call = ir.Call(ir.Attribute(X, "device"), (ir.Argument(ir.Constant(0)),))
    read = AttributeRead(call, HERE, operand(X, Kind.TENSOR), "device", called=True)
    (found,) = reports("called-device", read)
    assert found.fix is None


# --- DEV304 --------------------------------------------------------------------------------

SPELLINGS = [
    ("CUDA", "cuda", Safety.SAFE),
    ("Cuda:1", "cuda:1", Safety.SAFE),
    ("cuda0", "cuda:0", Safety.SAFE),
    ("cuda_1", "cuda:1", Safety.SAFE),
    ("cuda:01", "cuda:1", Safety.SAFE),
    ("cuda::0", "cuda:0", Safety.SAFE),
    ("cuda ", "cuda", Safety.SAFE),
    ("cuda:", "cuda", Safety.SAFE),
    *((name.upper(), name, Safety.SAFE) for name in ("cpu", "mps", "xpu", "xla", "hpu", "mtia")),
    *((name.upper(), name, Safety.SAFE) for name in ("meta", "hip", "maia", "vulkan")),
    ("gpu", "cuda", Safety.UNSAFE),
    ("nvidia", "cuda", Safety.UNSAFE),
    ("rocm:0", "cuda:0", Safety.UNSAFE),
    ("metal", "mps", Safety.UNSAFE),
    ("gpu:1", "cuda:1", Safety.UNSAFE),
    ("GPU0", "cuda:0", Safety.UNSAFE),
    ("cudda", "cuda", None),
    ("cuda:0,1", "cuda:0", None),
    ("cuda:" + "0" * 5_000 + "7", "cuda:7", Safety.SAFE),
    ("cudda:" + "9" * 5_000, "", None),
    ("cuda:-1", "", None),
    *((name, "", None) for name in ("auto", "none", "None", "accelerator")),
    ("", "", None),
]


def use_of(value: str, via: str = "to") -> DeviceUse:
    problem = parse(value)
    assert isinstance(problem, Misspelling)
    spelled = text(value)
    return DeviceUse(spelled.node, HERE, spelled, via, None, problem)


@pytest.mark.parametrize(("value", "nearest", "safety"), SPELLINGS)
def test_the_device_that_was_meant(value: str, nearest: str, safety: Safety | None) -> None:
    (found,) = reports("invalid-device", use_of(value))
    assert (f'"{nearest}"' in found.help) if nearest else not found.help
    assert (found.fix and found.fix.safety) == safety
    if safety is not None:
        assert written(found) == (f'"{nearest}"',)


@pytest.mark.parametrize("nearest", [row[1] for row in SPELLINGS if row[1]])
def test_what_is_proposed_is_a_device(nearest: str) -> None:
    assert isinstance(parse(nearest), Known)


@pytest.mark.parametrize("value", ["npu", "npu:0", "mlu", "musa", "neuron", "tpu", "gcu:1"])
def test_a_type_that_a_backend_may_add_is_left_alone(value: str) -> None:
    assert not reports("invalid-device", use_of(value))


def test_a_default_may_be_a_name_of_ones_own() -> None:
    assert not reports("invalid-device", use_of("gpu", via="default"))


# --- DEV305 --------------------------------------------------------------------------------

ATTRIBUTE = ir.Attribute(X, "device")


def compare(left: Operand, op: str, right: Operand, of_type: bool = False) -> list[Report]:
    node = ir.Compare(op, left.node, right.node)
    return reports("device-compared-with-string", Comparison(node, HERE, op, left, right, of_type))


@pytest.mark.parametrize(
    ("op", "other", "words", "edits"),
    [
        ("==", "cuda", "always False", (".type",)),
        ("!=", "cpu", "always True", (".type",)),
        ("==", "cuda:0", "always False", ("str(", ")")),
        ("is", "cpu", "always False", (".type == ",)),
        ("is not", "cpu", "always True", (".type != ",)),
        ("in", "cuda", "raises TypeError", (".type",)),
        ("startswith", "cuda", "no `.startswith()`", (".type",)),
        ("split", ":", "no `.split()`", ("str(", ")")),
    ],
)
def test_a_device_and_a_string(op: str, other: str, words: str, edits: tuple[str, ...]) -> None:
    (found,) = compare(operand(ATTRIBUTE, Kind.DEVICE), op, text(other))
    assert words in found.message
    assert written(found) == edits


def test_a_string_looked_for_in_a_device() -> None:
    (found,) = compare(text("cuda"), "in", operand(ATTRIBUTE, Kind.DEVICE))
    assert "raises TypeError" in found.message


@pytest.mark.parametrize("kind", [Kind.UNKNOWN, Kind.STRING, Kind.NAMESPACE])
def test_what_is_no_device_may_equal_a_string(kind: Kind) -> None:
    assert not compare(operand(ATTRIBUTE, kind), "==", text("cuda"))


def place(device: Device, trait: Trait | None = None) -> Operand:
    return operand(ATTRIBUTE, Kind.DEVICE, device, trait=trait)


TENSORS = Trait.DEVICE_OF_TENSOR


@pytest.mark.parametrize(
    ("left", "right", "never"),
    [
        (place(Known("cuda")), place(Known("cuda", 0)), True),
        (place(Known("cpu")), place(Known("cpu", 0)), True),
        (place(Known("cuda")), place(Known("cuda")), False),
        (place(Known("cuda", 1)), place(Known("cuda", 0)), False),
        (place(Known("cuda")), place(Known("cpu")), False),
        (place(Known("cuda")), place(Symbol("d", "d")), False),
        (place(Symbol("x", "x"), TENSORS), place(Known("cuda")), True),
        (place(Known("cuda"), TENSORS), place(Known("cuda")), True),
        (place(Known("cuda"), TENSORS), place(Known("cuda", 0)), False),
        (place(Known("cpu"), TENSORS), place(Known("cpu")), False),
        (place(Symbol("x", "x"), TENSORS), place(Known("cpu")), False),
        (place(Symbol("x", "x"), TENSORS), place(Known("meta")), False),
        (place(Symbol("x", "x"), TENSORS), place(Symbol("y", "y"), TENSORS), False),
    ],
)
def test_devices_that_are_never_equal(left: Operand, right: Operand, never: bool) -> None:
    assert bool(compare(left, "==", right)) is never
    assert bool(compare(right, "!=", left)) is never


def test_devices_are_objects_of_their_own() -> None:
    made = operand(ir.Call(ir.Name("device"), ()), Kind.DEVICE)
    assert compare(made, "is", place(UNKNOWN))
    assert compare(place(UNKNOWN, TENSORS), "is not", place(UNKNOWN))
    assert not compare(place(UNKNOWN), "is", place(UNKNOWN))


@pytest.mark.parametrize(
    ("wrong", "fires"), [("cuda:0", True), ("CUDA", True), ("cuda", False), ("npu", False)]
)
def test_a_type_has_no_index(wrong: str, fires: bool) -> None:
    left = operand(ir.Attribute(ATTRIBUTE, "type"), Kind.STRING, trait=Trait.TYPE_OF_DEVICE)
    assert bool(compare(left, "==", text(wrong), of_type=True)) is fires


# --- DEV306 --------------------------------------------------------------------------------


def test_a_flag_is_named() -> None:
    flag = operand(ir.Constant(True), Kind.BOOL, data=True)
    (found,) = reports("wrong-move-argument", move(operand(X, Kind.TENSOR), "cuda", flag))
    assert written(found) == ("non_blocking=",)
    (found,) = reports("wrong-move-argument", move(operand(X, Kind.MODULE), "cuda", flag))
    assert found.fix is None  # Module.cuda has no such parameter


def test_an_unknown_receiver_is_left_alone() -> None:
    flag = operand(ir.Constant(True), Kind.BOOL, data=True)
    assert not reports("wrong-move-argument", move(operand(X, Kind.UNKNOWN), "cuda", flag))


@pytest.mark.parametrize("name", sorted(_WITHOUT_DEVICE))
def test_these_classes_take_no_device(name: str) -> None:
    parameters = inspect.signature(getattr(torch.nn, name).__init__).parameters.values()
    assert all(each.name != "device" and each.kind is not each.VAR_KEYWORD for each in parameters)


@pytest.mark.parametrize("name", sorted(_LEGACY_CONSTRUCTORS))
def test_the_old_constructors_make_host_tensors_only(name: str) -> None:
    with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu"):
        getattr(torch, name.rpartition(".")[2])([1], device="meta")


# --- DEV307 --------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "fixed"), [("x", True), ("y", False)])
def test_the_assignment_of_a_registration_is_dropped(name: str, fixed: bool) -> None:
    call = ir.Call(
        ir.Attribute(ir.Name("self"), "register_buffer"), (ir.Argument(ir.Constant(name)),)
    )
    me = ir.Name("self")
    statement = ir.Assign((ir.Attribute(me, "x"),), call)
    value = operand(call, Kind.NONE, trait=Trait.REGISTERS_BUFFER)
    write = AttributeWrite(statement, HERE, operand(me, Kind.MODULE), "x", value, True)
    (found,) = reports("assigned-register-buffer", write)
    assert (found.fix is not None) is fixed
