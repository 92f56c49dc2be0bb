"""The table itself: how rows are read, checked, found and overridden."""

from __future__ import annotations

import pytest

from devlint import torchapi
from devlint.flow.domain.traits import Trait
from devlint.flow.domain.values import Kind
from devlint.flow.effects.overlays import OVERLAYS
from devlint.torchapi import Dims, Effect, Row
from devlint.torchapi.table import KINDS, TRAITS, as_function, read


def rows_of(text: str) -> dict[str, Row]:
    return dict(read(text, "rows.toml", {}))


def test_a_row_is_read_with_shorthands_and_either_spelling() -> None:
    rows = rows_of(
        """
        [rows]
        "a.full" = { effect = "create", device = "device", dims = "shape" }
        "a.cat" = { effect = "join", operands = ["self", [0, "other"]], free-scalars = false }
        "a.pack" = { effect = "keep", cpu_only = [[1, "lengths"]] }
        """
    )
    assert rows["a.full"] == Row("a.full", Effect.CREATE, device=("device",), dims=Dims.SHAPE)
    assert rows["a.cat"].operands == (("self",), (0, "other"))
    assert rows["a.cat"].free_scalars is False
    assert rows["a.pack"].cpu_only == ((1, "lengths"),)


def test_a_group_gives_methods_and_functions() -> None:
    rows = rows_of(
        """
        [[group]]
        prefix = "torch.Tensor."
        functions = ["torch."]
        names = ["add", "mul"]
        row = { effect = "join", operands = ["self", [0, "other"]] }
        """
    )
    assert list(rows) == ["torch.Tensor.add", "torch.Tensor.mul", "torch.add", "torch.mul"]
    assert rows["torch.Tensor.mul"].operands == (("self",), (0, "other"))
    assert rows["torch.mul"].operands == ((0, "input"), (1, "other"))


def test_the_last_argument_stays_the_last_one_in_the_function() -> None:
    row = Row("f", Effect.CREATE, size=(-1, "size"), cpu_only=((0, "lengths"),))
    assert as_function(row).size == (-1, "size")
    assert as_function(row).cpu_only == ((1, "lengths"),)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ('{ effect = "teleport" }', "'teleport' is none of create"),
        ('{ effect = "keep", dims = "two" }', "'two' is none of none, some"),
        ('{ effect = "keep", devise = "device" }', 'unknown key "devise"'),
        ('{ dims = "none" }', "`effect` is missing"),
        ('{ effect = "join" }', 'effect "join" needs `operands`'),
        ('{ effect = "overlay" }', 'effect "overlay" needs `overlay`'),
        ('{ effect = "create-like" }', 'effect "create-like" needs `like`'),
        ('{ effect = "join", operands = "self" }', "expected a list of parameters"),
        ('{ effect = "keep", of = [] }', "expected a position or a keyword"),
        ('{ effect = "keep", of = [true] }', "expected a position or a keyword"),
        ('{ effect = "keep", parts = "yes" }', "expected bool"),
        ('{ effect = "move", to = 1 }', "expected str"),
        ('{ effect = "keep", kind = "thing" }', 'unknown kind "thing"'),
        ('{ effect = "keep", trait = "thing" }', 'unknown trait "thing"'),
        ('"keep"', "expected a table"),
    ],
)
def test_a_wrong_row_is_refused_with_file_and_name(entry: str, complaint: str) -> None:
    with pytest.raises(ValueError) as error:
        rows_of(f'[rows]\n"mylib.f" = {entry}')
    assert 'rows.toml: "mylib.f"' in str(error.value)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[group]\n", "rows.toml: "),
        ('[row]\n"a.b" = { effect = "keep" }', '"row": expected [rows]'),
        ('[[group]]\nnames = ["a"]', "`names` and `row` are needed"),
        ('[[group]]\nnames = ["a", "a"]\nrow = { effect = "keep" }', '"a" is given twice'),
        ('[[group]]\nnames = ["a"]\nform = "x"\nrow = { effect = "keep" }', 'unknown key "form"'),
        ('[rows]\n"a b" = { effect = "keep" }', "expected a dotted name"),
        ('[aliases]\n"a.*" = "b"', "`*` on one side only"),
    ],
)
def test_a_wrong_file_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r"rows\.toml") as error:
        rows_of(text)
    assert complaint in str(error.value)


def test_what_was_found_has_the_name_that_was_asked_for() -> None:
    table = torchapi.load()
    row = table.get("torch.Tensor.mul")
    assert row is not None
    assert (row.name, row.effect) == ("torch.Tensor.mul", Effect.JOIN)
    assert table.get("torch.no_such_function") is None
    assert table.get("torch") is None


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("torch.nn.modules.linear.Linear", "torch.nn.Linear"),
        ("torch.nn.modules.module.Module.to", "torch.nn.Module.to"),
        ("torch.nn.parameter.Parameter", "torch.nn.Parameter"),
        ("torch.amp.autocast", "torch.autocast"),
        ("torch.nn.parallel.DataParallel", "torch.nn.DataParallel"),
        ("lightning.pytorch.LightningModule", "pytorch_lightning.LightningModule"),
        ("tqdm.auto.tqdm", "tqdm.tqdm"),
        ("torch.zeros", "torch.zeros"),
        ("mylib.anything", "mylib.anything"),
    ],
)
def test_other_names_lead_to_the_documented_one(name: str, canonical: str) -> None:
    table = torchapi.load()
    assert table.canonical(name) == canonical
    assert table.get(name) == table.get(canonical)


@pytest.mark.parametrize(
    ("name", "effect", "kind"),
    [
        ("transformers.BertModel.from_pretrained", Effect.OVERLAY, "module"),
        ("transformers.AutoModelForCausalLM.from_pretrained", Effect.OVERLAY, "module"),
        ("transformers.MaskFormerConfig", Effect.OPAQUE, "unknown"),
        ("transformers.AutoTokenizer.from_pretrained", Effect.CONSTRUCT, "tokenizer"),
        ("transformers.CLIPProcessor.from_pretrained", Effect.CONSTRUCT, "tokenizer"),
        ("transformers.ForcedBOSTokenLogitsProcessor", Effect.OPAQUE, "unknown"),
        ("transformers.DataCollatorForLanguageModeling", Effect.OPAQUE, "unknown"),
        ("torchvision.models.resnet18", Effect.CONSTRUCT, "module"),
        ("torchvision.models.ResNet18_Weights", Effect.OPAQUE, "unknown"),
        ("torchvision.transforms.Lambda", Effect.OPAQUE, "unknown"),
        ("torchmetrics.Accuracy", Effect.CONSTRUCT, "module"),
        ("torchmetrics.functional.accuracy", Effect.OPAQUE, "unknown"),
        ("torch.distributed.algorithms.join.Join", Effect.OPAQUE, "unknown"),
    ],
)
def test_patterns(name: str, effect: Effect, kind: str) -> None:
    row = torchapi.load().get(name)
    assert row is not None
    assert (row.name, row.effect, row.kind) == (name, effect, kind)


def test_a_star_is_one_component() -> None:
    table = torchapi.load().with_rows({"mylib.ops.*": {"effect": "keep", "of": [0]}})
    assert table.get("mylib.ops.f") is not None
    assert table.get("mylib.ops.a.f") is None
    assert table.get("mylib.ops") is None


def test_a_user_row_goes_before_ours_and_leaves_ours_alone() -> None:
    table = torchapi.load()
    ours = table.with_rows(
        {
            "mylib.to_device": {"effect": "move", "of": [0], "device": [1]},
            "torch.zeros": {"effect": "opaque"},
        }
    )
    moved, zeros = ours.get("mylib.to_device"), ours.get("torch.zeros")
    assert moved is not None
    assert zeros is not None
    assert (moved.effect, moved.of, moved.device) == (Effect.MOVE, (0,), (1,))
    assert zeros.effect is Effect.OPAQUE
    assert ours.get("transformers.BertModel") == table.get("transformers.BertModel")
    assert table.get("mylib.to_device") is None


def test_a_wrong_user_row_is_refused() -> None:
    with pytest.raises(ValueError, match=r'"mylib\.f": unknown key "devise"; the keys are effect,'):
        torchapi.load().with_rows({"mylib.f": {"effect": "keep", "devise": 1}})


def test_the_version_follows_the_rows() -> None:
    table = torchapi.load()
    one = table.with_rows({"mylib.f": {"effect": "keep"}, "mylib.g": {"effect": "opaque"}})
    same = table.with_rows({"mylib.g": {"effect": "opaque"}, "mylib.f": {"effect": "keep"}})
    other = table.with_rows({"mylib.f": {"effect": "opaque"}, "mylib.g": {"effect": "opaque"}})
    assert len({table.version, one.version, other.version}) == 3
    assert one.version == same.version


def test_the_kinds_are_those_of_the_interpreter() -> None:
    assert {kind.upper() for kind in KINDS} <= {kind.name for kind in Kind}


def test_the_traits_are_those_of_the_interpreter() -> None:
    assert {trait.value for trait in Trait} >= TRAITS
    table = torchapi.load()
    rows = filter(None, map(table.get, table.names()))
    assert {row.trait for row in rows} - {""} == TRAITS


def test_every_alias_leads_to_a_row() -> None:
    table = torchapi.load()
    names = list(table.names())
    for alias, target in table.aliases.items():
        stem = target.removesuffix("*")
        assert any(name.startswith(stem) for name in names), alias


def test_every_row_names_an_overlay_that_there_is_and_the_other_way_round() -> None:
    table = torchapi.load()
    rows = [*table.rows.values(), *(row for each in table.patterns.values() for _, row in each)]
    assert {*OVERLAYS, ""} == {row.overlay for row in rows}


def test_an_overlay_of_a_users_row_is_one_that_there_is() -> None:
    table = torchapi.load()
    own = table.with_rows({"mylib.pairs": {"effect": "overlay", "overlay": "zip"}}).get(
        "mylib.pairs"
    )
    assert own is not None
    assert own.overlay == "zip"
    with pytest.raises(ValueError, match=r"\"mylib\.f\": overlay: there is no 'nope'"):
        table.with_rows({"mylib.f": {"effect": "overlay", "overlay": "nope"}})
