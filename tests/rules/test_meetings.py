"""Which rule speaks of a pair of operands, and what its fix writes: on facts made by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from devlint.flow.domain.derivation import Sort, Step
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Value
from devlint.flow.facts import (
    CPU,
    CUDA,
    CUDA_AVAILABLE,
    UNKNOWN,
    ApiCall,
    AttributeWrite,
    Context,
    Device,
    Draw,
    Fact,
    Guarded,
    HostRead,
    Indexing,
    Join,
    KeptModules,
    KeptTensor,
    Kind,
    Known,
    ModuleCall,
    Operand,
    Origin,
    Role,
    Symbol,
)
from devlint.model import ir
from devlint.model.findings import Confidence, Level, Safety
from devlint.model.reports import Hop, Report, options
from devlint.rules import all_rules

CODES = {
    "tensor-on-default-device": "DEV203",
    "index-on-other-device": "DEV204",
    "input-on-other-device": "DEV201",
    "module-left-behind": "DEV208",
    "moved-parameter": "DEV407",
    "numpy-on-accelerator": "DEV205",
    "operands-on-other-devices": "DEV202",
    "unregistered-modules": "DEV402",
    "unregistered-tensor": "DEV401",
}

CHOICE = Guarded(CUDA_AVAILABLE, CUDA, CPU)
DEVICE = Symbol("device", "device")
MODEL = Symbol("self", "where `self` is", described=True)
PLAIN, MODULE, DATA, MANAGED, TEST = (
    Context(role=role) for role in (Role.PLAIN, Role.MODULE, Role.DATA, Role.MANAGED, Role.TEST)
)


def operand(
    node: str | ir.Expr,
    device: Device = CPU,
    origin: Origin = Origin.MOVED,
    *,
    kind: Kind = Kind.TENSOR,
    guarded: bool = False,
    trait: Trait | None = None,
    type_name: str = "",
    made: ir.Call | None = None,
) -> Operand:
    node = ir.Name(node) if isinstance(node, str) else node
    trace = None if made is None else Step(Sort.DEFAULT, made, device=CPU)
    value = Value(kind, device, origin=origin, trait=trait, trace=trace)
    return Operand(node, value, device, type_name, guarded)


def call(name: str, *args: ir.Expr, **keywords: ir.Expr) -> ir.Call:
    func: ir.Expr
    first, *rest = name.split(".")
    func = ir.Name(first)
    for attr in rest:
        func = ir.Attribute(func, attr)
    given = [ir.Argument(arg) for arg in args]
    given += [ir.Argument(value, keyword) for keyword, value in keywords.items()]
    return ir.Call(func, tuple(given))


def reports(fact: Fact) -> list[tuple[str, Report]]:
    return [
        (CODES[rule.name], report)
        for rule in all_rules()
        if rule.name in CODES and isinstance(fact, rule.on)
        for report in rule.check(fact)
    ]


def codes(fact: Fact) -> list[str]:
    return [code for code, _ in reports(fact)]


def texts(report: Report) -> list[str]:
    elsewhere = (each for each in options(report.fix) if each.rewrites[0].start.side != "loop")
    return [rewrite.text for option in islice(elsewhere, 1) for rewrite in option.rewrites]


def join(context: Context, *placed: Operand, inplace: bool = False) -> Join:
    return Join(ir.Name("op"), context, "+", placed, inplace)


FRESH = operand("t", CPU, Origin.DEFAULT)


@pytest.mark.parametrize(
    ("context", "odd", "partner", "expected"),
    [
        (PLAIN, FRESH, operand("x", CUDA), ["DEV202"]),
        (PLAIN, FRESH, operand("x", CHOICE), ["DEV202"]),
        (PLAIN, FRESH, operand("x", DEVICE), ["DEV202"]),
        (PLAIN, FRESH, operand("x", DEVICE, Origin.FOLLOWS), ["DEV203"]),
        (PLAIN, FRESH, operand("x", MODEL, Origin.INPUT), ["DEV203"]),
        (MODULE, FRESH, operand("x", MODEL, Origin.FOLLOWS), ["DEV203"]),
        (MODULE, FRESH, operand("x", DEVICE), ["DEV203"]),
        (MODULE, operand("t", CPU, Origin.HOST_DATA), operand("x", MODEL), ["DEV203"]),
        (MODULE, operand("t", CPU), operand("x", MODEL, Origin.FOLLOWS), ["DEV202"]),
        (PLAIN, operand("t", CPU, Origin.LOADED), operand("x", DEVICE), ["DEV202"]),
        (PLAIN, operand("t", Known("cuda", 1)), operand("x", Known("cuda", 0)), ["DEV202"]),
        # nothing differs, or nobody knows
        (PLAIN, FRESH, operand("x", CPU), []),
        (PLAIN, FRESH, operand("x", UNKNOWN), []),
        (PLAIN, operand("t", DEVICE), operand("x", MODEL), []),
        (PLAIN, operand("t", CUDA), operand("x", Known("cuda", 0)), []),
        # where CUDA is absent a bare "cuda" fails by itself
        (PLAIN, operand("t", CUDA), operand("x", CHOICE), []),
        # another rule's business, or nobody's
        (PLAIN, operand("t", CPU, guarded=True), operand("x", CUDA), []),
        (MODULE, operand("self.t", CPU, Origin.ATTRIBUTE), operand("x", MODEL), []),
        (DATA, FRESH, operand("x", CUDA), []),
        (MANAGED, operand("t", CPU, Origin.LOADED), operand("x", MODEL, Origin.FOLLOWS), []),
        (PLAIN, operand("t", CPU), operand("x", MODEL, Origin.INPUT), []),
        (TEST, FRESH, operand("x", MODEL, Origin.INPUT), []),
    ],
)
def test_one_rule_speaks_of_a_pair(
    context: Context, odd: Operand, partner: Operand, expected: list[str]
) -> None:
    assert codes(join(context, odd, partner)) == expected
    assert codes(join(context, partner, odd)) == expected


def test_the_operand_off_the_accelerator_is_reported() -> None:
    cuda = operand("x", CUDA)
    found = reports(join(PLAIN, FRESH, cuda, operand("y", CPU)))
    assert [ir.render(report.at) for _, report in found] == ["t", "y"]  # type: ignore[arg-type]
    assert found[0][1].message == "`t` is on cpu but `x` is on cuda"


X_PLACE = Symbol("x.device", "x.device")
GIVEN = operand("x", X_PLACE, Origin.FOLLOWS)
"""An argument."""


def test_an_argument_is_not_said_to_be_where_it_is() -> None:
    host = operand("t", CPU, Origin.LOADED)
    ((_, report),) = reports(join(MODULE, host, GIVEN))
    assert report.message == "`t` is on cpu but `x` may be on an accelerator"


def test_a_list_of_both_is_named_once() -> None:
    node = ir.Name("parts")
    ((_, report),) = reports(join(PLAIN, operand(node, CPU), operand(node, CUDA)))
    assert report.message == "`parts` holds tensors on cpu and on cuda"
    assert report.fix is None


@pytest.mark.parametrize(
    ("context", "level"), [(MODULE, None), (PLAIN, Level.WARNING), (MANAGED, Level.WARNING)]
)
def test_a_fresh_tensor_is_an_error_in_modules_only(context: Context, level: Level | None) -> None:
    ((code, report),) = reports(join(context, FRESH, operand("x", MODEL, Origin.FOLLOWS)))
    assert (code, report.level) == ("DEV203", level)


@pytest.mark.parametrize(
    ("odd", "partner", "confidence"),
    [
        (operand("t", CPU), operand("x", CUDA), Confidence.HIGH),
        (operand("t", CPU), operand("x", DEVICE, Origin.MOVED), Confidence.HIGH),
        (operand("t", CPU), operand("x", Symbol("args.device", "args.device")), Confidence.HIGH),
        (FRESH, operand("x", CHOICE), Confidence.HIGH),
        (FRESH, GIVEN, Confidence.MEDIUM),
        (FRESH, operand("x", MODEL, Origin.FOLLOWS), Confidence.MEDIUM),
        (FRESH, operand("x", Symbol("x.device", "x.device"), Origin.MOVED), Confidence.MEDIUM),
    ],
)
def test_what_a_run_decides_is_less_sure(
    odd: Operand, partner: Operand, confidence: Confidence
) -> None:
    ((_, report),) = reports(join(PLAIN, odd, partner))
    assert report.confidence is confidence


@pytest.mark.parametrize(
    ("device", "confidence"),
    [(CUDA, Confidence.HIGH), (DEVICE, Confidence.HIGH), (X_PLACE, Confidence.MEDIUM)],
)
def test_so_is_what_an_argument_decides_alone(device: Device, confidence: Confidence) -> None:
    left, given = operand("model", CPU, Origin.DEFAULT), operand("x", device)
    read = HostRead(call("numpy.sum"), PLAIN, given, "__array__")
    drawn = Draw(call("torch.rand", ir.Constant(3)), PLAIN, "torch.rand", operand("g"), device)
    for fact in (module_call(PLAIN, left, given), read, replace(read, method="cpu-only"), drawn):
        (report,) = (
            each for rule in all_rules() if rule.on is type(fact) for each in rule.check(fact)
        )
        assert report.confidence is confidence


X = operand(ir.Attribute(ir.Name("batch"), "x"), CUDA)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (ir.Name("t"), [".to(batch.x.device)"]),
        (ir.Subscript(ir.Name("t"), ir.Constant(0)), [".to(batch.x.device)"]),
        (call("torch.ones", ir.Constant(3)), [", device=batch.x.device"]),
        (call("torch.from_numpy", ir.Name("a")), [".to(batch.x.device)"]),
        (call("torch.ones", ir.Constant(3), device=ir.Constant("cpu")), [".to(batch.x.device)"]),
        (call("torch.ones", ir.Constant(3), out=ir.Name("y")), [".to(batch.x.device)"]),
        (ir.Binary("+", ir.Name("t"), ir.Constant(1)), ["(", ").to(batch.x.device)"]),
        (ir.Starred(ir.Name("ts")), []),
    ],
)
def test_the_fix_moves_the_operand(node: ir.Expr, expected: list[str]) -> None:
    ((_, report),) = reports(join(PLAIN, operand(node, CPU, Origin.DEFAULT), X))
    fixes = list(options(report.fix))
    assert ([r.text for r in fixes[-1].rewrites] if fixes else []) == expected
    assert report.fix is None or report.fix.safety is Safety.UNSAFE


def test_where_the_partner_has_no_short_name_device_is_tried_and_what_is_written_stays() -> None:
    partner = operand(call("f"), CUDA)
    ((_, report),) = reports(join(PLAIN, FRESH, partner))
    assert texts(report) == ["device"]
    assert report.fix is not None
    assert all(each.is_guess for each in options(report.fix))
    written = [texts(report) for _, report in reports(join(PLAIN, FRESH, X, inplace=True))]
    assert written == [["batch.x.device"]]


def module_call(context: Context, module: Operand, *inputs: Operand) -> ModuleCall:
    return ModuleCall(call("model"), context, module, inputs)


MOVED = operand("model", DEVICE, kind=Kind.MODULE)


@pytest.mark.parametrize(
    ("context", "module", "given", "expected"),
    [
        (PLAIN, MOVED, operand("x", CPU, Origin.LOADED), ["DEV201"]),
        (PLAIN, MOVED, operand("x", CPU, Origin.ENCODED, kind=Kind.ENCODING), ["DEV201"]),
        (PLAIN, MOVED, FRESH, ["DEV201"]),
        (MODULE, MOVED, FRESH, ["DEV203"]),
        (MODULE, MOVED, operand("x", CPU), ["DEV201"]),
        (PLAIN, operand("model", CPU, Origin.DEFAULT), operand("x", CUDA), ["DEV208"]),
        (PLAIN, operand("model", CPU, Origin.MOVED), operand("x", CUDA), ["DEV201"]),
        (PLAIN, MOVED, operand("x", DEVICE), []),
        (PLAIN, MOVED, operand("x", CPU, Origin.LOADED, guarded=True), []),
        (MANAGED, MOVED, operand("x", CPU, Origin.LOADED), []),
        (PLAIN, operand("model", MODEL, Origin.INPUT), operand("x", CPU, Origin.LOADED), []),
    ],
)
def test_one_rule_speaks_of_an_input(
    context: Context, module: Operand, given: Operand, expected: list[str]
) -> None:
    assert codes(module_call(context, module, given)) == expected


def test_help_names_the_device_of_the_model() -> None:
    loaded = operand("x", CPU, Origin.LOADED)
    ((_, report),) = reports(module_call(PLAIN, MOVED, loaded))
    assert report.message == "`x` is on cpu but `model` is on `device`"
    assert report.help == "move it first: `x = x.to(device)`"
    ((_, report),) = reports(module_call(PLAIN, operand("model", CHOICE), loaded))
    assert report.help == "move it first: `x = x.to(next(model.parameters()).device)`"


ZEROS = call("torch.zeros", ir.Constant(3))
HOST = call("torch.from_numpy", ir.Name("a"))
RNN = operand(ir.Attribute(ir.Name("self"), "rnn"), MODEL, Origin.FOLLOWS, kind=Kind.MODULE)


def made(node: str | ir.Expr, creation: ir.Call) -> Operand:
    return operand(node, CPU, Origin.DEFAULT, made=creation)


def test_a_fresh_tensor_is_reported_where_it_is_made() -> None:
    fact = join(MODULE, made("t", ZEROS), GIVEN)
    ((code, report),) = reports(fact)
    assert (code, report.at) == ("DEV203", ZEROS)
    assert report.message == (
        "`t` is made on cpu here, but meets `x`, which may be on an accelerator"
    )
    assert report.because == (
        Hop(ZEROS, "made without `device=` here: on the CPU"),
        Hop(fact.node, "they meet here"),
    )
    assert report.help == "make it where `x` is"


@pytest.mark.parametrize(
    ("odd", "partner", "expected"),
    [
        ("t", operand("x", DEVICE), "`t` is made on cpu here, but meets `x`, which is on `device`"),
        (
            ir.Subscript(ir.Name("t"), ir.Constant(0)),
            operand("x", DEVICE),
            "this tensor is made on cpu here, but meets `x`, which is on `device`",
        ),
    ],
)
def test_a_plain_name_is_named(odd: str | ir.Expr, partner: Operand, expected: str) -> None:
    ((_, report),) = reports(join(MODULE, made(odd, ZEROS), partner))
    assert report.message == expected


def test_a_list_of_fresh_and_other_tensors() -> None:
    parts = ir.Name("parts")
    ((_, report),) = reports(join(MODULE, made(parts, ZEROS), operand(parts, DEVICE)))
    assert report.message == "this tensor is made on cpu, but others in `parts` are not"
    assert report.fix is None


OF_SELF = operand(ir.Attribute(ir.Name("self"), "weight"), MODEL, Origin.FOLLOWS)
LOCAL = operand("h", MODEL, Origin.FOLLOWS)


@pytest.mark.parametrize(
    ("odd", "creation", "partner", "expected", "names"),
    [
        ("t", ZEROS, GIVEN, [", device=x.device"], ("x",)),
        ("t", ZEROS, OF_SELF, [", device=self.weight.device"], ("self",)),
        ("t", HOST, GIVEN, [".to(x.device)"], ("x",)),
        ("t", ZEROS, operand(call("x.sum"), X_PLACE), [", device=x.device"], ("x",)),
        ("t", ZEROS, operand(call("F.relu", ir.Name("x")), X_PLACE), [", device=x.device"], ("x",)),
        # there is no fix where the name isn't bound yet where the tensor is made
        ("t", ZEROS, LOCAL, [", device=h.device"], ("h",)),
        (ZEROS, ZEROS, LOCAL, [", device=h.device"], ("h",)),
        # a last guess
        (ZEROS, ZEROS, operand(call("f"), MODEL), [", device=device"], ("device",)),
    ],
)
def test_the_fix_makes_it_where_the_partner_is(
    odd: str | ir.Expr,
    creation: ir.Call,
    partner: Operand,
    expected: list[str],
    names: tuple[str, ...],
) -> None:
    ((_, report),) = reports(join(MODULE, made(odd, creation), partner))
    assert report.fix is not None
    fix = next(each for each in options(report.fix) if each.rewrites[0].start.side != "loop")
    assert [rewrite.text for rewrite in fix.rewrites] == expected
    assert fix.safety is Safety.UNSAFE
    assert fix.together in ((), (fix.rewrites[0].start.node, partner.node))
    assert fix.names == names


def test_a_hidden_state_is_made_where_the_other_input_is() -> None:
    ((code, report),) = reports(module_call(MODULE, RNN, GIVEN, made("h0", ZEROS)))
    assert (code, report.at) == ("DEV203", ZEROS)
    assert (
        report.message == "`h0` is made on cpu here, but meets `self.rnn`, which is where `self` is"
    )
    assert texts(report) == [", device=x.device"]
    ((_, report),) = reports(module_call(MODULE, RNN, made("h0", ZEROS)))
    assert report.fix is not None
    words = [each.rewrites[0].text for each in options(report.fix) if not each.is_guess]
    assert ", device=next(self.rnn.parameters()).device" in words


def test_other_rules_stay_at_the_use() -> None:
    fresh = made("t", ZEROS)
    use = fresh.node
    for fact in (join(PLAIN, fresh, X), module_call(PLAIN, MOVED, fresh)):
        ((code, report),) = reports(fact)
        assert code in ("DEV201", "DEV202")
        assert report.at is use


@pytest.mark.parametrize(
    ("base", "index", "expected"),
    [
        (CPU, CUDA, ["DEV204"]),
        (CPU, CHOICE, ["DEV204"]),
        (CPU, DEVICE, ["DEV204"]),
        (Known("cuda", 0), Known("cuda", 1), ["DEV204"]),
        (CUDA, CPU, []),
        (DEVICE, CPU, []),
        (CHOICE, CPU, []),
        (CUDA, CHOICE, []),
        (CUDA, Known("cuda", 0), []),
        (UNKNOWN, CUDA, []),
    ],
)
def test_only_an_index_on_an_accelerator_is_wrong(
    base: Device, index: Device, expected: list[str]
) -> None:
    fact = Indexing(ir.Name("op"), PLAIN, operand("base", base), operand("i", index))
    found = reports(fact)
    assert [code for code, _ in found] == expected
    for _, report in found:
        assert texts(report) == [".to(base.device)"]
        assert report.fix is not None
        assert report.fix.safety is Safety.SAFE


DETACHED = ir.Call(ir.Attribute(ir.Name("x"), "detach"), ())


@pytest.mark.parametrize(
    ("node", "grad", "expected"),
    [
        (ir.Name("x"), False, [".cpu()"]),
        (ir.Name("x"), True, [".detach().cpu()"]),
        (DETACHED, True, [".cpu()"]),
        (ir.Binary("+", ir.Name("x"), ir.Name("y")), True, [".detach().cpu()"]),
    ],
)
def test_numpy_is_fixed_by_what_is_missing(node: ir.Expr, grad: bool, expected: list[str]) -> None:
    fact = HostRead(call("x.numpy"), PLAIN, operand(node, CUDA), "numpy", grad)
    ((code, report),) = reports(fact)
    assert (code, texts(report)) == ("DEV205", expected)


def test_numpy_by_force_copies_by_itself() -> None:
    forced = call("x.numpy", force=ir.Constant(True))
    assert codes(HostRead(forced, PLAIN, operand("x", CUDA), "numpy")) == []


@pytest.mark.parametrize(
    ("context", "receiver", "method"),
    [
        (PLAIN, operand("x", CPU), "numpy"),
        (PLAIN, operand("x", UNKNOWN), "numpy"),
        (PLAIN, operand("x", MODEL, Origin.INPUT), "numpy"),
        (DATA, operand("x", MODEL, Origin.FOLLOWS), "numpy"),
        (PLAIN, operand("x", CUDA), "__array__"),
    ],
)
def test_numpy_is_left_alone(context: Context, receiver: Operand, method: str) -> None:
    assert codes(HostRead(call("x.numpy"), context, receiver, method)) == []


ONES = call("torch.ones", ir.Constant(3))
MEAN = ir.Attribute(ir.Name("self"), "mean")


def kept_tensor(store: ir.Stmt, *uses: ir.Node) -> KeptTensor:
    hops = tuple(Hop(use, "used here") for use in uses)
    return KeptTensor(store, MODULE, "Net", "mean", operand(ONES), hops)


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        (ir.Assign((MEAN,), ONES), ['self.register_buffer("mean", ', ", persistent=False)"]),
        (ir.Assign((MEAN,), ONES, annotation=ir.Name("Tensor")), []),
        (ir.Assign((MEAN, ir.Name("mean")), ONES), []),
    ],
)
def test_a_kept_tensor_becomes_a_buffer(store: ir.Stmt, expected: list[str]) -> None:
    ((code, report),) = reports(kept_tensor(store, ir.Name("use")))
    assert (code, texts(report)) == ("DEV401", expected)


def test_a_kept_tensor_without_use_is_left_alone() -> None:
    assert codes(kept_tensor(ir.Assign((MEAN,), ONES))) == []


LAYER = call("nn.Linear", ir.Constant(3), ir.Constant(3))


def kept_modules(display: ir.Expr | None, **changes: object) -> KeptModules:
    value = operand("layers", UNKNOWN, kind=Kind.LIST, type_name="list")
    fields = {"class_name": "Net", "attr": "layers", "value": value, "display": display, "nn": "nn"}
    return KeptModules(ir.Name("store"), PLAIN, **{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        (kept_modules(ir.Display("list", (LAYER,))), ["nn.ModuleList(", ")"]),
        (kept_modules(ir.Display("list", ()), nn="torch.nn"), ["torch.nn.ModuleList(", ")"]),
        (kept_modules(ir.Display("list", (LAYER,)), parameters=True), ["nn.ParameterList(", ")"]),
        (kept_modules(ir.Mapping(((ir.Constant("a"), LAYER),))), ["nn.ModuleDict(", ")"]),
        (kept_modules(ir.Mapping(((ir.Constant("a.b"), LAYER),))), []),
        (kept_modules(ir.Mapping(((ir.Name("key"), LAYER),))), []),
        (kept_modules(ir.Display("tuple", (LAYER,))), ["nn.ModuleList(", ")"]),
        (kept_modules(ir.Display("list", (ir.Display("list", (LAYER,)),))), []),
        (kept_modules(ir.Display("list", (LAYER,)), nn=""), []),
        (kept_modules(None), []),
    ],
)
def test_flat_containers_are_wrapped(fact: KeptModules, expected: list[str]) -> None:
    ((code, report),) = reports(fact)
    assert (code, texts(report)) == ("DEV402", expected)


def moved_parameter(device: Device, argument: ir.Expr) -> AttributeWrite:
    made = call("nn.Parameter", argument)
    node = ir.Call(ir.Attribute(made, "to"), (ir.Argument(ir.Name("device")),))
    value = operand(node, device, trait=Trait.MOVED_PARAMETER)
    return AttributeWrite(ir.Name("store"), MODULE, operand("self"), "w", value, True)


def test_a_moved_parameter_is_moved_inside() -> None:
    ((code, report),) = reports(moved_parameter(DEVICE, ir.Name("t")))
    assert (code, texts(report)) == ("DEV407", [".to(device)", ""])
    ((_, report),) = reports(moved_parameter(CUDA, ir.Binary("*", ir.Name("t"), ir.Constant(2))))
    assert texts(report) == ["(", ").to(device)", ""]
    assert codes(moved_parameter(CPU, ir.Name("t"))) == []


@pytest.mark.parametrize(
    ("name", "trait", "expected"),
    [
        ("torch.optim.SGD", Trait.MOVED_LEAF, ["w"]),
        ("torch.optim.SGD", None, []),
        ("torch.stack", Trait.MOVED_LEAF, []),
    ],
)
def test_a_moved_leaf_is_reported_at_the_optimizer(
    name: str, trait: Trait | None, expected: list[str]
) -> None:
    listed = operand(ir.Display("list", (ir.Name("w"),)), CUDA, trait=trait)
    found = reports(ApiCall(call("sgd"), PLAIN, name, (listed,)))
    assert [ir.render(report.at) for _, report in found] == expected  # type: ignore[arg-type]
