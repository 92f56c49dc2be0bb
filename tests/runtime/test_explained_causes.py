"""What is told names the cause, and what it says to type lets the program run."""

from __future__ import annotations

import linecache
import sys
import textwrap
from pathlib import Path

import pytest

import devlint
from devlint.runtime.explain import Explanation
from devlint.runtime.explaining.caught import explain_error
from devlint.runtime.operands import Reader
from devlint.runtime.virtual.tags import shown_place

HEAD = "import torch\nfrom torch import nn\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(program: str) -> None:
    with devlint.emulate("cuda", 2), devlint.guard():
        exec(compile(program, "train.py", "exec"), {"__name__": "__main__"})


def told(folder: Path, program: str, kind: type[Exception] = RuntimeError) -> Explanation:
    """What is said of a program that fails. Its first line is the third of the file."""
    code = HEAD + textwrap.dedent(program).strip()
    (folder / "train.py").write_text(code, "utf-8")
    linecache.clearcache()
    with pytest.raises(kind) as caught:
        run(code)
    found = explain_error(caught.value)
    assert found is not None
    return found.explanation


def told_without_notes(
    folder: Path, program: str, kind: type[Exception] = RuntimeError
) -> Explanation:
    """The same where nobody has noted what the operands were, as on a real accelerator."""
    code = HEAD + textwrap.dedent(program).strip()
    (folder / "train.py").write_text(code, "utf-8")
    linecache.clearcache()
    with devlint.emulate("cuda", 2):
        with pytest.raises(kind) as caught:
            exec(compile(code, "train.py", "exec"), {"__name__": "__main__"})
        vars(caught.value).clear()
        found = explain_error(caught.value, (), Reader(shown_place, lambda tensor: None))
    assert found is not None
    return found.explanation


def runs(program: str, old: str, new: str) -> None:
    """The program runs with a piece of it replaced."""
    code = HEAD + textwrap.dedent(program).strip()
    assert old in code
    run(code.replace(old, new))


# --- parameters that are lent to a module

FUNCTIONAL = """
    from torch.func import functional_call
    net = nn.Sequential(nn.Linear(4, 2)).cuda()
    params = {name: torch.ones(p.shape) for name, p in net.named_parameters()}
    x = torch.ones(3, 4).cuda()
    y = functional_call(net, params, (x,))
"""
STACKED = """
    from torch.func import functional_call, stack_module_state, vmap
    params, buffers = stack_module_state([nn.Linear(4, 2) for _ in range(3)])
    net, x = nn.Linear(4, 2).cuda(), torch.ones(3, 4).cuda()
    def one(p, b):
        return functional_call(net, (p, b), (x,))
    out = vmap(one)(params, buffers)
"""


def test_the_parameters_that_a_call_was_given_are_wrong(folder: Path) -> None:
    found = told(folder, FUNCTIONAL)
    assert found.headline == (
        'functional_call(net, params, (x,)) takes x on cuda:0 and params["0.weight"] on cpu'
    )
    assert found.argument == 'params["0.weight"]'
    fix = "params = {name: each.to(x.device) for name, each in params.items()}"
    assert found.fix == f"move it first: {fix}"
    runs(FUNCTIONAL, "y = ", f"{fix}\ny = ")


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="before Python 3.11 a line is known, not what is in it"
)
def test_a_gradient_of_parameters_that_are_lent(folder: Path) -> None:
    program = FUNCTIONAL.replace(
        "y = functional_call(net, params, (x,))",
        "y = torch.func.grad(lambda p: functional_call(net, p, (x,)).sum())(params)",
    )
    found = told(folder, program)
    assert found.argument == 'p["0.weight"]'
    assert dict(found.lines)["made at"].startswith("train.py:5  params =")


def test_parameters_that_are_lent_under_vmap(folder: Path) -> None:
    found = told(folder, STACKED)
    assert found.argument == 'p["weight"]'
    fix = "p = {name: each.to(x.device) for name, each in p.items()}"
    assert found.fix == f"move it first: {fix}"
    runs(STACKED, "    return functional_call", f"    {fix}\n    return functional_call")


def test_a_module_without_parameters_of_others_is_to_blame_itself(folder: Path) -> None:
    found = told(folder, "net = nn.Linear(4, 2)\nnet(torch.ones(3, 4).cuda())")
    assert found.fix.startswith("move the module before the call: net.to(")


# --- one of several computed operands


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("torch.where(x > 0, x, torch.zeros(3))", "torch.zeros(3)"),
        ("torch.where(x > 0, x * 2, torch.full((3,), 1.0))", "torch.full((3,), 1.0)"),
        ("x.where(x > 0, torch.zeros(3))", "torch.zeros(3)"),
        ("torch.cat([x * 2, torch.zeros(3), x.exp()])", "torch.zeros(3)"),
    ],
)
def test_of_computed_operands_the_one_that_can_be_it(folder: Path, line: str, name: str) -> None:
    program = f"x = torch.ones(3).cuda()\ny = {line}"
    found = told(folder, program)
    fixed = f"{name[:-1]}, device=x.device)"
    assert found.argument == name
    assert found.fix == f"make it in the right place: {fixed}"
    runs(program, name, fixed)


# --- files


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ('map_location="cuda:5"', "hardcoded-device-index"),
        ('map_location={"cpu": "cuda:5"}', "hardcoded-device-index"),
        ('torch.device("cuda", number)', ""),
        (
            "lambda x, where: torch.serialization.default_restore_location(x, 'cuda:5')",
            "hardcoded-device-index",
        ),
    ],
)
def test_a_place_that_the_program_has_asked_for(folder: Path, given: str, rule: str) -> None:
    program = f"""
        torch.save(torch.ones(3), "w.pt")
        number = 5
        w = torch.load("w.pt", {given})
    """
    found = told(folder, program)
    assert found.headline == "map_location asks for cuda:5, which this process doesn't have"
    assert found.rule == rule
    fixed = 'torch.load("w.pt", map_location="cuda")'
    assert found.fix == f"load them to a device that is there: {fixed}"
    runs(program, f'torch.load("w.pt", {given})', fixed)


# --- what a fix may be written for


def test_a_value_that_is_not_there_yet_is_moved_where_it_is_used(folder: Path) -> None:
    program = """
        best = None
        for step in range(2):
            x = torch.ones(3).cuda()
            best = x.cpu() if best is None else torch.maximum(best, x)
    """
    found = told(folder, program)
    assert found.fix == "move it first: best.to(x.device)"
    runs(program, "torch.maximum(best, x)", "torch.maximum(best.to(x.device), x)")


def test_what_a_model_keeps_is_moved_rather_than_its_index(folder: Path) -> None:
    program = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.masses = torch.ones(4)
            def forward(self, at):
                return self.masses[at.view(-1)]
        Net()(torch.tensor([1, 2], device="cuda"))
    """
    found = told(folder, program)
    assert found.rule == "unregistered-tensor"
    assert 'self.register_buffer("masses"' in found.fix


# --- what an operator takes


@pytest.mark.parametrize("sign", ["-", "<"])
def test_the_sides_of_an_operator_are_named(folder: Path, sign: str) -> None:
    program = f"""
        def parts(x):
            return x, 1
        assert (parts(torch.ones(3).cuda())[0] {sign} parts(torch.ones(3))[0]).all(), "apart"
    """
    found = told(folder, program)
    assert found.argument == "parts(torch.ones(3))[0]"


# --- wrappers

WRAPPED = """
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel as DDP
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    try:
        rank = 0
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        wrapped = DDP(net, device_ids=[rank])
    finally:
        dist.destroy_process_group()
"""


@pytest.mark.parametrize("part", ["", "; net[1].cuda()"])
def test_a_model_is_moved_before_it_is_wrapped(folder: Path, part: str) -> None:
    program = WRAPPED.replace("nn.Linear(4, 2))", f"nn.Linear(4, 2)){part}")
    found = told(folder, program, ValueError)
    where = "on several devices" if part else "on cpu"
    assert where in found.headline
    assert found.argument == "net"
    assert dict(found.lines)["made at"].startswith("train.py:8  net = ")
    fix = "net = net.to(rank)"
    assert found.fix == f"move the whole module before it is wrapped: {fix}"
    runs(program, "    wrapped =", f"    {fix}\n    wrapped =")


def test_a_model_on_several_accelerators_takes_no_device_ids(folder: Path) -> None:
    program = WRAPPED.replace("Linear(4, 4)", 'Linear(4, 4, device="cuda:1")')
    program = program.replace("Linear(4, 2)", 'Linear(4, 2, device="cuda:0")')
    found = told(folder, program, ValueError)
    assert found.fix.startswith("leave device_ids and output_device out")
    runs(program, ", device_ids=[rank]", "")


# --- states of an optimizer

STEPS = """
    net = nn.Linear(3, 2).cuda()
    opt = torch.optim.{kind}(net.parameters(), lr=0.1{more})
    def step():
        opt.zero_grad()
        net(torch.ones(4, 3).cuda()).sum().backward()
        opt.step()
    step()
    for p, state in opt.state.items():
        state["{key}"] = {put}
    step()
"""


@pytest.mark.parametrize(
    ("kind", "more", "key"), [("Adam", "", "exp_avg"), ("SGD", ", momentum=0.9", "momentum_buffer")]
)
@pytest.mark.parametrize("put", ['state["{key}"].cpu()', "torch.zeros(p.shape)"])
def test_a_state_that_the_program_has_put_elsewhere(
    folder: Path, kind: str, more: str, key: str, put: str
) -> None:
    put = put.replace("{key}", key)
    program = STEPS.format(kind=kind, more=more, key=key, put=put)
    found = told(folder, program)
    assert found.argument == key
    assert found.devices == ("cpu", "cuda:0")
    lines = dict(found.lines)
    label = "moved at" if "cpu" in put else "made at"
    assert lines[label] == f'train.py:11  state["{key}"] = {put}'
    fix = "opt.load_state_dict(opt.state_dict())"
    assert found.fix == f"move the state to the device of its parameters: {fix}"
    runs(program, "    opt.step()", f"    {fix}\n    opt.step()")


def test_a_state_of_which_nobody_has_noted_where_it_came_from(folder: Path) -> None:
    put = 'state["exp_avg"].cpu()'
    found = told_without_notes(folder, STEPS.format(kind="Adam", more="", key="exp_avg", put=put))
    assert (found.argument, found.devices) == ("exp_avg", ("cpu", "cuda:0"))
    assert found.fix.endswith("opt.load_state_dict(opt.state_dict())")


def test_a_number_that_is_counted_in_place_is_an_operand(folder: Path) -> None:
    program = """
        class Count(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("total", torch.tensor(0.0))
            def update(self, x):
                self.total += x
        count = Count()
        count.update(torch.tensor(1.0).cuda())
    """
    found = told_without_notes(folder, program)
    assert found.headline == "Count is on cpu, but met x on cuda:0"
    assert found.fix == 'move the module before the call: count.to("cuda:0")'


# --- loaders


@pytest.mark.parametrize(
    "data",
    ["TensorDataset(torch.ones(6, 3).cuda())", 'Items(torch.device("cuda"))'],
)
def test_data_on_an_accelerator_is_not_pinned(folder: Path, data: str) -> None:
    program = f"""
        from torch.utils.data import DataLoader, Dataset, TensorDataset
        class Items(Dataset):
            def __init__(self, device):
                self.rows = torch.ones(6, 3, device=device)
            def __len__(self):
                return len(self.rows)
            def __getitem__(self, index):
                return self.rows[index]
        data = {data}
        loader = DataLoader(data, batch_size=2, pin_memory=True)
        for batch in loader:
            pass
    """
    found = told(folder, program)
    assert found.argument == "loader"
    lines = dict(found.lines)
    made = lines.get("made at", lines.get("moved at", ""))
    assert made.startswith("train.py:6" if "Items" in data else "train.py:11")
    assert lines["loader"] == "made at train.py:12"
    fixed = "DataLoader(data, batch_size=2)"
    assert found.fix == f"leave the pinning out at train.py:12: {fixed}"
    runs(program, "DataLoader(data, batch_size=2, pin_memory=True)", fixed)


def test_a_generator_that_a_decorated_method_was_given(folder: Path) -> None:
    program = """
        class Painter:
            def __init__(self, device):
                self.device = device
            @torch.no_grad()
            def paint(self, seed):
                return torch.randn(3, generator=seed, device=self.device)
        device = torch.device("cuda")
        generator = torch.Generator().manual_seed(4)
        Painter(device).paint(generator)
    """
    found = told(folder, program)
    made = "train.py:10  generator = torch.Generator().manual_seed(4)"
    assert dict(found.lines)["made at"] == made
    assert found.fix == "make it for that device: torch.Generator(device=device)"
    runs(program, "torch.Generator()", "torch.Generator(device=device)")


@pytest.mark.parametrize(
    ("call", "use", "place"),
    [
        ("loader = DataLoader(data, shuffle=True)", "list(loader)", " at train.py:6"),
        ("sampler = RandomSampler(data)", "list(DataLoader(data, sampler=sampler))",
         " at train.py:6"),
        ("parts = random_split(data, [2, 4])", "", ""),
    ],
)  # fmt: skip
def test_a_generator_that_was_not_given(folder: Path, call: str, use: str, place: str) -> None:
    program = f"""
        from torch.utils.data import DataLoader, RandomSampler, TensorDataset, random_split
        torch.set_default_device("cuda")
        data = TensorDataset(torch.ones(6, 3))
        {call}
        {use}
    """
    made = call.partition(" = ")[2]
    fixed = f'{made[:-1]}, generator=torch.Generator(device="cuda"))'
    found = told(folder, program)
    assert found.headline == (
        f"{made.partition('(')[0]} takes a generator on cpu where it is given none, "
        "and makes numbers on cuda, the default device"
    )
    assert found.fix == f"give it one{place}: {fixed}"
    runs(program, made, fixed)


def test_a_generator_that_a_loader_was_given_is_named(folder: Path) -> None:
    made = "order = torch.Generator()"
    program = f"""
        from torch.utils.data import DataLoader
        torch.set_default_device("cuda")
        {made}
        loader = DataLoader([1, 2, 3], shuffle=True, generator=order)
        for rows in loader:
            pass
    """
    found = told(folder, program)
    assert (found.argument, found.devices) == ("order", ("cpu", "cuda"))
    fixed = 'torch.Generator(device="cuda")'
    assert found.fix == f"make it for that device: {fixed}"
    runs(program, made, f"order = {fixed}")


# --- gradients of a program's own

FUNCTION = """
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            {line}
            return grad * w, other

    x, w = (torch.ones(3, device="cuda", requires_grad=True) for _ in range(2))
    Scale.apply(x, w).sum().backward()
"""


@pytest.mark.parametrize(
    ("line", "label"),
    [("other = torch.ones(3)", "made at"), ("other = (grad * x).cpu()", "moved at")],
)
def test_a_gradient_that_a_backward_returns(folder: Path, line: str, label: str) -> None:
    program = FUNCTION.format(line=line)
    found = told(folder, program)
    assert found.headline == "Scale.backward returns other on cpu, the gradient of w on cuda:0"
    assert dict(found.lines)[label] == f"train.py:12  {line}"
    fixed = "other.to(grad.device)"
    assert found.fix == f"move it where it is returned, at train.py:13: {fixed}"
    runs(program, "w, other", f"w, {fixed}")


def test_a_computed_gradient_is_moved_as_a_whole(folder: Path) -> None:
    program = FUNCTION.format(line="g = grad.cpu()").replace("w, other", "w, g * x.cpu()")
    found = told(folder, program)
    assert found.fix.endswith(": (g * x.cpu()).to(grad.device)")
    runs(program, "g * x.cpu()", "(g * x.cpu()).to(grad.device)")


KEPT = """
    class Average:
        def __init__(self, model):
            self.shadow = {{k: p.detach() for k, p in model.named_parameters()}}
        def update(self, model):
            for k, p in model.named_parameters():
                self.shadow[k] = self.shadow[k] + p.detach()
        def load_state_dict(self, state):
            {kept}
    class Trainer:
        def __init__(self):
            self.model = nn.Linear(2, 2).cuda()
            self.average = Average(self.model)
        def resume(self, state):
            for name in state:
                getattr(self, name).load_state_dict(state[name])
    trainer = Trainer()
    trainer.resume({{"average": {{"shadow": dict(nn.Linear(2, 2).named_parameters())}}}})
    trainer.average.update(trainer.model)
"""


@pytest.mark.parametrize(
    "kept",
    [
        'self.shadow = state["shadow"]',
        'setattr(self, "shadow", state["shadow"])',
        "self.__dict__.update(state)",
    ],
)
def test_what_makes_an_object_isnt_what_replaced_its_parts(folder: Path, kept: str) -> None:
    program = KEPT.format(kept=kept)
    made = "train.py:19  trainer.resume("
    assert dict(told(folder, program).lines)["made at"].startswith(made)
    without = told_without_notes(folder, program)
    assert without.argument == "self.shadow[k]"
    assert "made at" not in dict(without.lines)
