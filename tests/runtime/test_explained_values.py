"""Where the values of a failing line come from, and what can be typed there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from runtime.test_explained_causes import folder, runs, told, told_without_notes

__all__ = ["folder"]


def first_line(text: str) -> str:
    """The line of `train.py`, of which a line of an explanation begins with the place."""
    return text.partition("  ")[2]


# --- what a line works on


def test_a_number_is_no_operand(folder: Path) -> None:
    program = """
        x, mask = torch.ones(4).cuda(), torch.ones(4).bool()
        y = x.masked_fill(~mask, float("-inf"))
    """
    found = told_without_notes(folder, program)
    assert found.argument == "~mask"
    assert told(folder, program).fix == "move it first: mask = mask.to(x.device)"
    runs(program, "y =", "mask = mask.to(x.device)\ny =")


PROPERTY = """
    from functools import cached_property
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 3)
        @DECORATOR
        def order(self):
            return torch.arange(3)
        def forward(self, x):
            y = self.lin(x)
            return y.index_select(1, self.order)
    net, x = Net().cuda(), torch.ones(2, 3).cuda()
    net(x)
"""


@pytest.mark.parametrize("decorator", ["property", "cached_property"])
def test_what_a_property_gives_is_named_after_it(folder: Path, decorator: str) -> None:
    program = PROPERTY.replace("DECORATOR", decorator)
    for found in (told(folder, program), told_without_notes(folder, program)):
        assert found.argument == "self.order"
        assert first_line(dict(found.lines)["made at"]) == "return torch.arange(3)"
        # Nobody can assign to a property, and what a class computes later is no buffer.
        assert found.fix == "move it first: self.order.to(next(self.parameters()).device)"
    runs(program, "self.order)", "self.order.to(next(self.parameters()).device))")


def test_the_lengths_are_not_what_the_line_computes_besides(folder: Path) -> None:
    program = """
        def pack(tokens, lengths):
            return nn.utils.rnn.pack_padded_sequence(
                embed(tokens), lengths, batch_first=True, enforce_sorted=False
            )
        embed = nn.Embedding(5, 3).cuda()
        pack(torch.ones(2, 4).long().cuda(), torch.tensor([4, 2]).cuda())
    """
    found = told(folder, program)
    assert found.argument == "lengths"
    assert found.fix == "copy the lengths to the host: lengths.cpu()"
    runs(program, "lengths, batch", "lengths.cpu(), batch")


def test_what_torch_computes_is_where_its_operands_are(folder: Path) -> None:
    program = """
        labels, x = torch.tensor([0, 2]), torch.ones(2, 3).cuda()
        y = torch.cat([x, nn.functional.one_hot(labels, 3).to(x.dtype)])
    """
    found = told_without_notes(folder, program)
    assert dict(found.lines)["because"] == "labels is on cpu"
    assert found.devices == ("cpu", "cuda:0")


def test_a_tensor_that_an_expression_makes_is_made_elsewhere(folder: Path) -> None:
    program = """
        x = torch.ones(3).cuda()
        y = 0.9 * x + 0.1 * torch.ones(3) / 3
    """
    for found in (told(folder, program), told_without_notes(folder, program)):
        assert found.argument == "0.1 * torch.ones(3) / 3"
        assert found.fix == "make it in the right place: torch.ones(3, device=x.device)"
    runs(program, "torch.ones(3) /", "torch.ones(3, device=x.device) /")


def test_a_list_says_where_what_is_computed_of_it_is(folder: Path) -> None:
    program = """
        scores = [torch.ones(2).cuda().mean() for _ in range(2)]
        y = torch.stack(scores).mean().numpy()
    """
    found = told_without_notes(folder, program, TypeError)
    assert (found.argument, found.devices) == ("torch.stack(scores).mean()", ("cuda:0", "cpu"))
    assert found.fix == "copy it to the host first: torch.stack(scores).mean().cpu().numpy()"


def test_the_origin_of_an_input_that_modules_compute_with(folder: Path) -> None:
    program = """
        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(3))
            def forward(self, x):
                return 2 * x @ self.weight
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = Scale()
            def forward(self, x):
                h = torch.stack((x, x))
                return self.scale((h - 1) / 2)
        net = Net().cuda()
        x = torch.ones(2, 3)
        net(x)
    """
    for found in (told(folder, program), told_without_notes(folder, program)):
        lines = [first_line(text) for label, text in found.lines if label == "made at"]
        assert lines == ["x = torch.ones(2, 3)"]
    runs(program, "net(x)", "net(x.to(next(net.parameters()).device))")


# --- where it comes from


def test_the_origin_of_what_a_function_gives(folder: Path) -> None:
    program = """
        def table(count):
            found = torch.zeros(count)
            found[0] = 1
            return found
        x = torch.ones(3).cuda()
        y = x + table(3)
    """
    found = told_without_notes(folder, program)
    assert found.argument == "table(3)"
    assert first_line(dict(found.lines)["made at"]) == "found = torch.zeros(count)"


def test_a_line_that_moves_elsewhere_is_not_the_origin(folder: Path) -> None:
    program = """
        net = nn.Linear(3, 3).cuda()
        state = torch.ones(3).to("cuda")
        for _ in range(2):
            out = net(state)
            state = torch.zeros(3)
    """
    made = "torch.zeros(3, device=out.device)"
    assert told(folder, program).fix == f"make it in the right place at train.py:7: {made}"
    runs(program, "torch.zeros(3)", made)
    found = told_without_notes(folder, program)
    assert first_line(dict(found.lines)["made at"]) == "state = torch.zeros(3)"


def test_a_part_that_somebody_else_has_replaced(folder: Path) -> None:
    program = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 9)
            def forward(self, x):
                x = self.body(x)
                return self.head(x)
        def replace(net):
            net.head = nn.Linear(3, 2)
            return net
        net = replace(Net().cuda())
        net(torch.ones(1, 3).cuda())
    """
    found = told_without_notes(folder, program)
    assert dict(found.lines)["model"] == "on cpu, made at train.py:11"


def test_the_argument_of_which_torch_has_made_another(folder: Path) -> None:
    """The encoder makes numbers of a mask of truth values before it hands it on."""
    program = """
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        net = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).cuda()
        x, hidden = torch.ones(2, 3, 4).cuda(), torch.zeros(2, 3).bool()
        y = net(x, src_key_padding_mask=hidden)
    """
    found = told(folder, program)
    assert found.argument == "hidden"
    fix = "hidden = hidden.to(next(net.parameters()).device)"
    assert found.fix == f"move it before the call: {fix}"
    runs(program, "y =", f"{fix}\ny =")


def test_the_origin_of_the_items_of_loops_and_comprehensions(folder: Path) -> None:
    program = """
        class Slow:
            def __init__(self):
                self.rows = [[torch.ones(2)]]
            def step(self, x):
                for number, group in enumerate(self.rows):
                    for row in group:
                        return x + row
        Slow().step(torch.ones(2).cuda())
    """
    found = told_without_notes(folder, program)
    assert first_line(dict(found.lines)["made at"]) == "self.rows = [[torch.ones(2)]]"
    program = """
        def encode(part):
            return part + torch.ones(2).cuda()
        corpus = torch.ones(4, 2)
        parts = [encode(part) for part in corpus.split(2)]
    """
    found = told_without_notes(folder, program)
    assert first_line(dict(found.lines)["made at"]) == "corpus = torch.ones(4, 2)"


def test_code_that_a_tracer_has_written_is_not_the_users(folder: Path) -> None:
    program = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
            def forward(self, batch):
                return self.lin(batch["x"])
        net = torch.fx.symbolic_trace(Net()).cuda()
        batch = {"x": torch.ones(2, 3)}
        net(batch)
    """
    found = told(folder, program)
    assert dict(found.lines)["used at"] == "train.py:11  net(batch)"
    assert found.argument == 'batch["x"]'
    fix = 'batch["x"] = batch["x"].to(next(net.parameters()).device)'
    assert found.fix == f"move it before the call: {fix}"
    runs(program, "net(batch)", f"{fix}\nnet(batch)")


# --- what can be typed


def test_a_name_of_the_file_is_not_assigned_in_a_function(folder: Path) -> None:
    program = """
        MEAN = torch.tensor([0.4, 0.5])
        def normalize(x):
            return x - MEAN
        normalize(torch.ones(2).cuda())
    """
    assert told(folder, program).fix == "move it first: MEAN.to(x.device)"
    runs(program, "x - MEAN", "x - MEAN.to(x.device)")


def test_a_name_of_the_file_that_is_written_is_made_elsewhere(folder: Path) -> None:
    program = """
        counts = torch.zeros(3)
        def count(rows):
            counts.add_(rows)
        rows = torch.ones(3).cuda()
        count(rows)
    """
    for found in (told(folder, program), told_without_notes(folder, program)):
        assert found.fix == (
            'make it in the right place at train.py:3: torch.zeros(3, device="cuda:0")'
        )
    runs(program, "torch.zeros(3)", 'torch.zeros(3, device="cuda:0")')


def test_a_module_without_parameters_has_buffers(folder: Path) -> None:
    program = """
        loss = nn.CrossEntropyLoss(weight=torch.ones(3)).cuda()
        x, label = torch.ones(2, 3).cuda(), torch.tensor([0, 1])
        y = loss(x, label)
    """
    fix = "label = label.to(next(loss.buffers()).device)"
    assert told(folder, program).fix == f"move it before the call: {fix}"
    runs(program, "y =", f"{fix}\ny =")


def test_a_list_is_moved_as_a_whole(folder: Path) -> None:
    program = """
        saved, last = {"rows": [torch.ones(3), torch.ones(3)]}, torch.ones(3).cuda()
        y = torch.stack([saved["rows"][0], last])
    """
    fix = 'saved["rows"] = [each.to(last.device) for each in saved["rows"]]'
    assert told(folder, program).fix == f"move it first: {fix}"
    runs(program, "y =", f"{fix}\ny =")


def test_what_an_object_keeps_is_moved_where_it_is_used(folder: Path) -> None:
    program = """
        class Cache:
            def __init__(self):
                self.k = torch.zeros(1, 3)
            def append(self, k):
                self.k = torch.cat([self.k, k])
                return self.k
        class Net(nn.Module):
            def forward(self, x, caches):
                return caches[0].append(x)
        Net()(torch.ones(1, 3).cuda(), [Cache(), Cache()])
    """
    fix = "self.k = self.k.to(k.device)"
    assert told(folder, program).fix == f"move it first: {fix}"
    runs(program, "        self.k = torch.cat", f"        {fix}\n        self.k = torch.cat")


def test_what_takes_other_tensors_is_moved_behind_them(folder: Path) -> None:
    program = """
        kept, rows, x = torch.ones(4), torch.tensor([0, 1]).cuda(), torch.ones(2).cuda()
        y = x - kept.index_select(0, rows.cpu())
    """
    fix = "kept.index_select(0, rows.cpu()).to(x.device)"
    assert told(folder, program).fix == f"move it first: {fix}"
    runs(program, "kept.index_select(0, rows.cpu())", fix)


def test_a_move_that_a_caller_has_thrown_away(folder: Path) -> None:
    program = """
        def generate(ids):
            current = ids
            return net(current)
        net = nn.Embedding(5, 3).cuda()
        prompt = torch.tensor([1, 2])
        prompt.to("cuda")
        generate(prompt)
    """
    found = told(folder, program)
    assert found.fix == 'assign the result at train.py:8: prompt = prompt.to("cuda")'
    assert found.rule == "discarded-move"
    runs(program, 'prompt.to("cuda")', 'prompt = prompt.to("cuda")')


def test_a_buffer_that_is_indexed_says_that_its_module_was_not_moved(folder: Path) -> None:
    program = """
        class Focal(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("alpha", torch.ones(3))
            def forward(self, target):
                return self.alpha[target]
        loss = Focal()
        loss(torch.tensor([0, 1]).cuda())
    """
    found = told(folder, program)
    assert (found.rule, found.argument) == ("module-left-behind", "loss")
    assert found.fix.startswith("move the module before the call: loss.to(")
    runs(program, "loss = Focal()", 'loss = Focal().to("cuda")')


def test_a_part_is_written_with_its_key(folder: Path) -> None:
    program = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
            def forward(self, x):
                for part in self.parts.values():
                    x = part(x)
                return x
        net = Net().cuda()
        net.parts["b"] = nn.Linear(3, 3)
        net(torch.ones(1, 3).cuda())
    """
    found = told(folder, program)
    assert found.fix.endswith('net.parts["b"].to(next(net.parameters()).device)')


def test_a_part_is_moved_as_a_whole(folder: Path) -> None:
    program = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.key = nn.Linear(3, 3), nn.Linear(3, 3)
            def forward(self, x):
                x = self.body(x)
                return self.key(x)
        net = Net().cuda()
        net.key = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
        net(torch.ones(1, 3).cuda())
    """
    found = told(folder, program)
    assert found.argument == "x"
    assert found.fix.endswith(": net.key.to(next(net.parameters()).device)")
    runs(program, "net(torch", "net.key.to(next(net.parameters()).device)\nnet(torch")


def test_state_that_is_read_from_outside_is_registered(folder: Path) -> None:
    program = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(3, 3)
                self.scales = {"a": nn.Parameter(torch.ones(1))}
        net, x = Net().cuda(), torch.ones(3).cuda()
        y = x * net.scales["a"]
    """
    found = told(folder, program)
    assert found.rule == "unregistered-modules"
    assert found.fix.endswith("self.scales = nn.ParameterDict(...)")
    container = '{"a": nn.Parameter(torch.ones(1))}'
    runs(program, container, f"nn.ParameterDict({container})")


# --- whose a file is


def test_what_is_installed_into_a_folder_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip install --target` records what it has put there; a program may lie beside it."""
    (folder / "acme_near-1.dist-info").mkdir()
    (folder / "acme_near-1.dist-info" / "RECORD").write_text("acme_near.py,sha256=x,1\n")
    (folder / "acme_near.py").write_text("def near(a, b):\n    return a @ b\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "acme_near", raising=False)
    program = """
        import acme_near
        row, x = torch.ones(3), torch.ones(3).cuda()
        acme_near.near(row, x)
    """
    found = told(folder, program)
    assert dict(found.lines)["used at"] == "train.py:5  acme_near.near(row, x)"
    assert found.fix == "move it first: row = row.to(x.device)"
