"""What findings tell somebody to do is what helps there."""

from __future__ import annotations

import textwrap

import pytest

from devlint.config.settings import Settings, check_layer, merge
from devlint.lint import check_source
from devlint.model.findings import Finding, Safety

MODULE = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.scale = nn.Parameter(torch.ones(2))
            self.register_buffer("shift", torch.ones(2))

        def forward(self, x):
            return self.layer(x)

        def inner(self, given):
            return self.layer(given)

        def copied(self, given):
            return self.layer(torch.tensor([[1.0, 2.0]]).to(given.device))

        def method(self, x, dtype):
            {body}
"""


def only(text: str, code: str) -> Finding:
    found = check_source(textwrap.dedent(text).encode(), "net.py", Settings(pedantic=True))
    (finding,) = (each for each in found if each.code == code)
    return finding


def lint(body: str, code: str) -> Finding:
    lines = textwrap.dedent(body).strip().replace("\n", "\n" + " " * 12)
    return only(MODULE.format(body=lines), code)


@pytest.mark.parametrize(
    ("body", "remedy"),
    [
        ("x.type(torch.cuda.FloatTensor)", "assign the result"),
        ("x.to('cuda', torch.float16)", "assign the result"),
        ("self.scale.to('cuda')", "assign the result to `self.scale.data`"),
        ("self.shift.to('cuda')", "assign the result"),
    ],
)
def test_a_result_that_is_thrown_away(body: str, remedy: str) -> None:
    finding = lint(f"y = x.unsqueeze(0)\n{body}", "DEV302")
    assert finding.message.endswith("is thrown away: a tensor isn't moved in place")
    assert finding.help == remedy


def test_a_tensor_that_is_made_for_a_layer() -> None:
    finding = lint("return self.layer(torch.ones(1, 2))", "DEV203")
    assert finding.help == "make it there: `device=next(self.layer.parameters()).device`"


def test_a_tensor_is_not_called_by_the_name_of_a_parameter() -> None:
    finding = lint("made = torch.ones(1, 2)\nreturn self.inner(made)", "DEV203")
    assert finding.message.startswith("this tensor is made on cpu here, but meets `self.layer`")


def test_why_a_move_leads_to_the_host() -> None:
    finding = lint("made = torch.ones(1, 2)\nreturn self.copied(made)", "DEV201")
    assert [hop.message for hop in finding.trace] == [
        "made without `device=` here: on the CPU",
        "moved to cpu here",
    ]
    assert finding.trace[0].span.row > finding.trace[1].span.row


@pytest.mark.parametrize(
    ("empty", "test", "registered"),
    [
        ("self.mask = None", "self.mask is None", "None"),
        ("pass", 'not hasattr(self, "mask")', "..."),
    ],
)
def test_a_tensor_that_later_calls_find(empty: str, test: str, registered: str) -> None:
    text = f"""
        import torch
        from torch import nn

        class Masked(nn.Module):
            def __init__(self):
                super().__init__()
                {empty}

            def forward(self, x):
                if {test}:
                    self.mask = torch.ones(2, x.size(1)).to(x)
                return x @ self.mask
    """
    assert only(text, "DEV401").help == (
        f'make it a buffer: `self.register_buffer("mask", {registered}, persistent=False)`'
    )


def test_what_is_moved_to_the_wrong_place_is_moved_once() -> None:
    text = """
        import torch
        from torch import nn

        def run(model: nn.Module, x: torch.Tensor, args):
            model = model.to("cuda" if args.gpu else "cpu")
            return model(x.cuda())
    """
    finding = only(text, "DEV201")
    assert finding.help == "move it: `x.to(next(model.parameters()).device)`"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("DEV303", "from torch import nn\nplace = nn.CrossEntropyLoss().device\n"),
        (
            "DEV401",
            """
            import torch
            from torch import nn

            class Net(torch.jit.ScriptModule):
                def __init__(self):
                    super().__init__()
                    self.layer = nn.Linear(2, 2)
                    self.shift = torch.ones(2)

                @torch.jit.script_method
                def forward(self, x):
                    return self.layer(x) + self.shift
            """,
        ),
        *(
            (
                "DEV402",
                f"""
                from torch import nn

                class Net(nn.Module):
                    def __init__(self, rows):
                        super().__init__()
                        self.layers = {{}}
                        {loop}:
                            self.layers[{key}] = nn.Linear(2, 2)
                """,
            )
            for loop, key in [
                ("for i in range(3)", "i"),
                ("for i, row in enumerate(rows)", "i"),
                ("if rows", "0"),
            ]
        ),
    ],
)
def test_no_fix_where_it_would_raise(code: str, text: str) -> None:
    """A loss has no parameters, TorchScript saves all buffers, and numbers name no modules."""
    assert only(text, code).fix is None


def test_names_of_modules_are_what_a_dict_of_modules_is_wrapped_for() -> None:
    text = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self, rows):
                super().__init__()
                self.layers = {}
                for i, row in enumerate(rows):
                    self.layers[row] = nn.Linear(2, 2)
        """
    fix = only(text, "DEV402").fix
    assert fix is not None
    assert [edit.content for edit in fix.edits] == ["nn.ModuleDict(", ")"]


def test_a_module_is_asked_for_its_device_by_its_parameters() -> None:
    text = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return x

        class Trainer:
            def __init__(self, backbone):
                self.backbone = backbone
                self.head = nn.Linear(3, 3)

            def step(self):
                place = next(self.backbone.parameters()).device
                return self.head(torch.zeros((1, 3), device=place))
        """
    fix = only(text, "DEV208").fix
    assert fix is not None
    (edit,) = fix.edits
    assert edit.content == ".to(next(self.backbone.parameters()).device)"


@pytest.mark.parametrize(
    ("made", "safety"),
    [
        *((f"{name}(3)", Safety.SAFE) for name in ("zeros", "ones", "empty", "eye", "arange")),
        ("full((3,), 1.0)", Safety.SAFE),
        *((f"{name}(3)", Safety.UNSAFE) for name in ("rand", "randn", "randperm")),
        ("randint(9, (3,))", Safety.UNSAFE),
    ],
)
def test_what_is_drawn_elsewhere_has_other_values(made: str, safety: Safety) -> None:
    code = f"import torch\n\ndevice = torch.device('cuda')\nx = torch.{made}.to(device)\n"
    settings = merge([check_layer("x", "", {"select": ["DEV504"]})])
    (finding,) = check_source(code.encode(), "x.py", settings)
    assert finding.fix is not None
    assert finding.fix.safety is safety
