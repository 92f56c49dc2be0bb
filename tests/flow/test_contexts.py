"""What the rest of a project gives to a function, and makes of an object's attributes."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from devlint.config.settings import Settings
from devlint.flow.contexts import (
    CHOSEN,
    FOR_SAMPLES,
    FROM_HOST,
    FROM_OUTSIDE,
    HANDED_OVER,
    OF_HOST_PROGRAM,
    OWN_MODEL,
    PASSED,
    SPAWNED,
)
from devlint.lint import check_source
from devlint.why.inspection import REASONS

HELPER = """
    import torch

    def padded(image: torch.Tensor, device=None):
        return torch.cat((image, torch.zeros(3)))
"""


def lint(
    root: Path, name: str, files: dict[str, str], settings: Settings | None = None
) -> list[str]:
    """The codes found in one file of a project, with their rows."""
    (root / "pyproject.toml").touch()
    for each, text in files.items():
        path = root / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    path = root / name
    found = check_source(path.read_bytes(), str(path), settings or Settings(pedantic=True))
    return [f"{finding.code}:{finding.span.row}" for finding in found]


def between(body: str) -> str:
    """A file that hands on to the helper what it is given."""
    return f"from helpers import padded\n\ndef enlarged(image, device=None):\n    {body}\n"


@pytest.mark.parametrize(
    ("body", "given", "found"),
    [
        ("return padded(image)", "torch.from_numpy(rows)", []),
        ("return padded(image[0])", "torch.from_numpy(rows)", []),
        ("return padded(image)", "torch.from_numpy(rows).to(device)", ["DEV203:5"]),
        ("return padded(image)", "opened(rows)", ["DEV203:5"]),
        ("return padded(image.to(device))", "torch.from_numpy(rows)", ["DEV203:5"]),
        ("return enlarged(padded(image))", "torch.from_numpy(rows)", []),
    ],
)
def test_what_a_caller_hands_on(tmp_path: Path, body: str, given: str, found: list[str]) -> None:
    """What a function hands on is what its own callers give it, in whatever file they are."""
    files = {
        "helpers.py": HELPER,
        "between.py": between(body),
        "main.py": f"""
            import torch
            from between import enlarged
            from images import opened

            def show(rows, device):
                return enlarged({given}, device)
        """,
    }
    assert lint(tmp_path, "helpers.py", files) == found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("torch.zeros(3).cpu()", []),
        ("torch.zeros(3).type_as(torch.ones(3))", ["DEV203:5"]),
        ("joined(torch.zeros(3), flag)", ["DEV203:5"]),
    ],
)
def test_what_brings_something_to_the_host(tmp_path: Path, given: str, found: list[str]) -> None:
    """Only what says so: what is there since another tensor is, may be elsewhere the next time."""
    files = {
        "helpers.py": HELPER,
        "test_helpers.py": f"""
            import torch
            from helpers import padded

            def joined(image, flag):
                if image.sum() > 0:
                    image = image.type_as(torch.rand(3))
                return image

            def test_padded(flag):
                assert padded({given}).sum() > 0
        """,
    }
    assert lint(tmp_path, "helpers.py", files) == found


@pytest.mark.parametrize(
    ("used", "given", "found"),
    [
        ("image.clone()", "torch.from_numpy(rows)", []),
        ("image.clone()", "torch.from_numpy(rows).to(device)", ["DEV203:6"]),
        ("torch.ones(3, device=image.device)", "torch.from_numpy(rows)", []),
        ("torch.ones(3, device=image.device)", "opened(rows)", ["DEV202:6"]),
    ],
)
def test_what_is_where_an_argument_is(
    tmp_path: Path, used: str, given: str, found: list[str]
) -> None:
    """What is made of an argument, or where it is, is where the callers bring that from."""
    files = {
        "helpers.py": f"""
            import torch

            def padded(image: torch.Tensor):
                used = {used}
                return torch.cat((used, torch.zeros(3)))
        """,
        "main.py": f"""
            import torch
            from helpers import padded
            from images import opened

            def show(rows, device):
                return padded({given})
        """,
    }
    assert lint(tmp_path, "helpers.py", files) == found


@pytest.mark.parametrize("name", ["test_show", "show"])
def test_what_a_test_hands_on(tmp_path: Path, name: str) -> None:
    """Tests are no callers, and hand on nothing."""
    files = {
        "helpers.py": HELPER,
        "main.py": """
            import torch
            from helpers import padded

            def show(rows):
                return padded(torch.from_numpy(rows))
        """,
        "checks.py": f"""
            import pytest
            from helpers import padded

            def {name}(monkeypatch):
                def wrapped(image):
                    return padded(image)

                monkeypatch.setattr("main.padded", wrapped)
                assert wrapped
        """,
    }
    found = [] if name.startswith("test_") else ["DEV203:5"]
    assert lint(tmp_path, "helpers.py", files) == found


def test_what_nobody_calls_may_be_given_anything(tmp_path: Path) -> None:
    files = {"helpers.py": HELPER, "between.py": between("return padded(image)")}
    assert lint(tmp_path, "helpers.py", files) == ["DEV203:5"]


TRAINER = """
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, device):
            self.net = nn.Linear(3, 3)
            self.weights = torch.ones(3)
            self.device = device

        def step(self, x):
            x = x.to(self.device)
            y = self.net(x)
            return y, x * self.weights
"""
FOUND = ["DEV208:7", "DEV202:14"]


def test_attributes_that_nobody_else_places(tmp_path: Path) -> None:
    assert lint(tmp_path, "trainer.py", {"trainer.py": TRAINER}) == FOUND


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("trainer.net = wrapped(trainer.net)", FOUND[1:]),
        ("trainer.net.cuda()", FOUND[1:]),
        ("net = trainer.net.to('cuda')", FOUND[1:]),
        ("trainer.net, other = wrapped(trainer.net)", FOUND[1:]),
        ("trainer.weights = trainer.weights.cuda()", FOUND[:1]),
        # a tensor's move makes another one
        ("weights = trainer.weights.cuda()", FOUND),
        ("trainer.weights = None", FOUND),
        ("print(trainer.net, trainer.net.weight)", FOUND),
    ],
)
def test_attributes_that_another_file_places(
    tmp_path: Path, statement: str, found: list[str]
) -> None:
    files = {
        "trainer.py": TRAINER,
        "train.py": f"""
            from trainer import Trainer
            from wrapping import wrapped

            def main(device):
                trainer = Trainer(device)
                {statement}
                trainer.step(batch)
        """,
    }
    assert lint(tmp_path, "trainer.py", files) == found
    assert lint(tmp_path, "trainer.py", {}, Settings(follow_imports=False, pedantic=True)) == FOUND


@pytest.mark.parametrize(
    ("patch", "found"),
    [
        ("nn.Module.device = property(where)", []),
        ("setattr(nn.Module, 'device', property(where))", []),
        ("nn.Module = Own", []),
        ("patch(nn, 'Module', Own)", []),
        ("getattr(nn, 'Module', None)", ["DEV303:9"]),
        ("nn.Linear.device = property(where)", ["DEV303:9"]),
        ("Own.device = property(where)", ["DEV303:9"]),
    ],
)
def test_another_file_may_give_all_modules_a_device(
    tmp_path: Path, patch: str, found: list[str]
) -> None:
    files = {
        "model.py": """
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.lin = nn.Linear(3, 3)
                def forward(self, x):
                    return self.lin(x.to(self.device))
        """,
        "patches.py": f"""
            from torch import nn

            {patch}
        """,
    }
    assert lint(tmp_path, "model.py", files) == found


def test_what_another_class_does_with_its_own_attribute(tmp_path: Path) -> None:
    other = """
        class Other:
            def __init__(this, net):
                this.net = net
                this.net.cuda()
    """
    assert lint(tmp_path, "trainer.py", {"trainer.py": TRAINER, "other.py": other}) == FOUND


def test_an_attribute_of_a_base_in_another_file(tmp_path: Path) -> None:
    """What a call leads to in another file hangs on what a third one places as well."""
    files = {
        "trainer.py": TRAINER,
        "special.py": """
            from trainer import Trainer

            class Special(Trainer):
                def epoch(self, batches):
                    return [self.step(x) for x in batches]
        """,
    }
    alone = lint(tmp_path, "trainer.py", files)
    assert alone == FOUND
    files = {"train.py": "def run(special):\n    special.net = special.net.cuda()\n"}
    assert lint(tmp_path, "trainer.py", files) == FOUND[1:]
    assert lint(tmp_path, "special.py", {}) == []


LAYERS = """
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x):
            return torch.zeros(len(x)) @ self.fc(x)
"""
PROGRAM = """
    import torch
    from layers import Attention

    model = Attention()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(3, 4)).sum().backward()
"""


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"train.py": PROGRAM}, []),
        ({}, ["DEV203:11"]),
        ({"train.py": PROGRAM + "    print(torch.cuda.is_available())\n"}, ["DEV203:11"]),
        ({"train.py": PROGRAM, "more.py": "from layers import Attention\n"}, ["DEV203:11"]),
    ],
)
def test_a_module_of_programs_that_run_on_the_host(
    tmp_path: Path, files: dict[str, str], found: list[str]
) -> None:
    """It runs where the programs do that use it: those that train and never speak of devices."""
    assert lint(tmp_path, "layers.py", {"layers.py": LAYERS, **files}) == found


@pytest.mark.parametrize(
    ("use", "found"),
    [("HOOKS = {1: made}", []), ("made(3, device)", ["DEV110:5"]), ("", ["DEV110:5"])],
)
def test_a_function_that_another_file_hands_over(
    tmp_path: Path, use: str, found: list[str]
) -> None:
    """What calls it then may ask for a parameter that it has no use for."""
    made = """
        import torch

        def made(count, device):
            return torch.ones(count)
    """
    files = {"made.py": made, "use.py": f"from made import made\n{use}\n"}
    assert lint(tmp_path, "made.py", files) == found


@pytest.mark.parametrize(
    ("made", "found"),
    [("Net(3, args.device)", []), ("Net(3)", ["DEV405:8"]), ("Net(3, None)", ["DEV405:8"])],
)
def test_a_device_that_another_file_names(tmp_path: Path, made: str, found: list[str]) -> None:
    net = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, width, device=None):
                super().__init__()
                self.device = device
                self.fc = nn.Linear(width, width)

            def forward(self, x):
                return self.fc(x) + torch.zeros(2, 3, device=self.device)
    """
    files = {"net.py": net, "use.py": f"from net import Net\n\ndef run(args):\n    {made}\n"}
    assert lint(tmp_path, "net.py", files) == found


CUT = """
    import torch

    class Cut:
        def __call__(self, image):
            return image * torch.ones(3, image.size(1))

    def padded(rows: list[torch.Tensor], lengths: torch.Tensor):
        return lengths + torch.ones(3)

    def moved(x, device):
        return x.to(device)
"""


@pytest.mark.parametrize(
    ("uses", "found"),
    [
        ("Compose([ToTensor(), cuts.Cut()]), DataLoader(rows, collate_fn=cuts.padded)", []),
        ("Compose([ToTensor(), cuts.Cut()])", ["DEV203:9"]),
        ("DataLoader(rows, collate_fn=cuts.padded)", ["DEV203:6"]),
        ("cuts.Cut()(rows[0]), cuts.padded", ["DEV203:6", "DEV203:9"]),
        ("Compose([Either([ToTensor(), cuts.Cut()])])", ["DEV203:9"]),
        ("Compose([Either(ToTensor(), Either([cuts.Cut()], p=0.5))])", ["DEV203:9"]),
    ],
)
def test_what_another_file_changes_samples_with(
    tmp_path: Path, uses: str, found: list[str]
) -> None:
    data = f"""
        import cuts
        from torch.utils.data import DataLoader
        from torchvision.transforms import Compose, ToTensor

        def make(rows):
            return {uses}
    """
    settings = Settings(pedantic=True)
    assert lint(tmp_path, "cuts.py", {"cuts.py": CUT, "data.py": data}, settings) == found


def test_what_changes_samples_hands_on_what_is_on_the_host(tmp_path: Path) -> None:
    other = """
        import cuts
        from helpers import padded
        from torchvision.transforms import Compose

        class Widen:
            def __call__(self, image):
                return padded(image)
    """
    files = {"helpers.py": HELPER, "wide.py": other}
    assert lint(tmp_path, "helpers.py", files) == ["DEV203:5"]
    files = {"data.py": "from wide import Widen\n\nsteps = Compose([Widen()])\n"}
    assert lint(tmp_path, "helpers.py", files) == []


NET = """
    import torch
    from torch import nn

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.GRU(3, 3)

        def forward(self, x):
            return self.rnn(x, torch.zeros(1, 3))

    {use}
"""


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("model = Net()\n    model(torch.zeros(3))", []),
        ("model = Net().to(device)\n    model(torch.zeros(3, device=device))", ["DEV203:13"]),
        ("model = Net()\n    model.to(device)(torch.zeros(3, device=device))", ["DEV203:13"]),
        ("if __name__ == '__main__':\n        Net()(torch.zeros(3))", ["DEV203:13"]),
        ("model = Net()", ["DEV203:13"]),
    ],
)
def test_a_program_has_its_own_modules_where_it_has_them(
    tmp_path: Path, use: str, found: list[str]
) -> None:
    """Also where it puts other things on an accelerator; unless another file imports it."""
    files = {"net.py": NET.format(use=use)}
    assert lint(tmp_path, "net.py", files) == found
    assert lint(tmp_path, "net.py", {"use.py": "from net import Net\n"}) == ["DEV203:13"]


def test_a_notebook_may_define_a_class_once_more(tmp_path: Path) -> None:
    """What it says of the first one holds for that alone."""
    net = textwrap.dedent(NET.format(use=""))
    first = f"{net}model = Net()\nmodel(torch.zeros(3))\n"
    second = net.replace("zeros(1, 3)", "zeros(1, 3, device=x.device)")
    cells = [first, f"{second}model = Net().to(device)\nmodel(torch.zeros(3).to(device))\n"]
    notebook = {
        "cells": [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": text, "id": str(each),
             "execution_count": None}
            for each, text in enumerate(cells)
        ],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    assert lint(tmp_path, "show.ipynb", {"show.ipynb": json.dumps(notebook)}) == []
    text = json.dumps(notebook).replace("zeros(1, 3, device=x.device)", "zeros(1, 3)")
    assert lint(tmp_path, "show.ipynb", {"show.ipynb": text}) == ["DEV203:31"]


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("Net().reset({})", []),
        ("Net().to(device).reset({})", ["DEV206:10"]),
        ("print(Net)", ["DEV206:10"]),
    ],
)
def test_what_is_read_of_a_module_before_it_is_moved(
    tmp_path: Path, use: str, found: list[str]
) -> None:
    net = """
        import numpy as np
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(3))
            def reset(self, state): self.logs = np.log(self.scale.detach())

        def move(model, device):
            return model.to(device)
    """
    files = {"net.py": net, "use.py": f"from net import Net\n\ndef run(device):\n    {use}\n"}
    assert lint(tmp_path, "net.py", files) == found


ROWS = """
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __getitem__(self, index):
            return torch.zeros(3, device="cuda")

    def loader():
        return DataLoader(Rows(), num_workers=2)
"""


@pytest.mark.parametrize(
    ("imports", "found"),
    [("from rows import loader", []), ("import os", ["DEV501:7"])],
)
def test_a_program_says_how_the_workers_of_a_loader_start(
    tmp_path: Path, imports: str, found: list[str]
) -> None:
    program = f"""
        from torch.multiprocessing import set_start_method
        {imports}

        if __name__ == "__main__":
            set_start_method("spawn")
    """
    told = lint(tmp_path, "rows.py", {"rows.py": ROWS, "train.py": program})
    assert [each for each in told if "DEV5" in each] == found


def test_the_reasons_have_words() -> None:
    reasons = {
        CHOSEN, FOR_SAMPLES, FROM_HOST, FROM_OUTSIDE, OF_HOST_PROGRAM, HANDED_OVER, PASSED, SPAWNED
    }  # fmt: skip
    assert reasons <= REASONS.keys()


TRAINS = """
    import torch
    import torch.distributed as dist
    from tools import name

    def train(net, local_rank):
        dist.init_process_group("nccl")
        net.cuda()
"""
CHOOSES = "import torch\n\ndef choose(rank):\n    torch.cuda.set_device(rank)\n"


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ({"tools.py": "name = 1"}, ["DEV408:8"]),
        ({"tools.py": "name = 1", "apart.py": CHOOSES}, ["DEV408:8"]),
        ({"tools.py": CHOOSES}, []),
        ({"tools.py": "from below import choose as name", "below.py": CHOOSES}, []),
        ({"tools.py": "", "main.py": f"from train import train\n{CHOOSES}"}, []),
        ({"tools.py": "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = name = '0'"}, []),
    ],
)
def test_a_file_that_has_to_do_with_it_chooses_the_device(
    tmp_path: Path, others: dict[str, str], found: list[str]
) -> None:
    """What is imported may run, and so may what imports it; another program of the folder not."""
    files = {"train.py": TRAINS, **others}
    assert lint(tmp_path, "train.py", files) == found


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ({"tools.py": "name = 1"}, ["DEV408:8"]),
        ({"tools.py": CHOOSES}, []),
        ({}, []),
    ],
)
def test_a_file_of_the_same_package_that_nobody_finds_may_choose_it(
    tmp_path: Path, others: dict[str, str], found: list[str]
) -> None:
    files = {"train.py": TRAINS.replace("from tools", "from .tools"), "__init__.py": "", **others}
    assert lint(tmp_path, "train.py", files) == found


TABLES = """
    import torch

    class Tables:
        def __init__(self, layout: torch.Tensor):
            self.layout = layout

        def make(self):
            return looked_up(self.layout)

    def looked_up(layout: torch.Tensor):
        return layout.sum(-1) + torch.zeros(3)
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("scores.cpu()", []),
        ("scores.to(device)", ["DEV203:12"]),
        ("scores", ["DEV203:12"]),
    ],
)
def test_what_a_constructor_keeps(tmp_path: Path, given: str, found: list[str]) -> None:
    files = {
        "tables.py": TABLES,
        "main.py": f"""
            from tables import Tables
            from scoring import scored

            def run(rows, device):
                scores = scored(rows)
                return Tables({given}).make()
        """,
    }
    assert lint(tmp_path, "tables.py", files) == found


def test_what_a_program_does_at_its_top_level(tmp_path: Path) -> None:
    """What nobody imports is a program; a file that others import may only be tried out there."""
    program = """
        import torch

        def padded(image: torch.Tensor, device=None):
            return torch.cat((image, torch.zeros(3)))

        padded(torch.linspace(0, 1, 5))
    """
    assert lint(tmp_path, "program.py", {"program.py": program}) == []
    files = {"other.py": "import program"}
    assert lint(tmp_path, "program.py", files) == ["DEV203:5"]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("print(special.weights)", ["DEV202:11"]),
        ("special.weights = special.weights.cuda()", []),
    ],
)
def test_what_a_base_does_with_an_attribute_that_another_file_places(
    tmp_path: Path, statement: str, found: list[str]
) -> None:
    files = {
        "trainer.py": """
            class Trainer:
                def __init__(self, device):
                    self.device = device

                def step(self, x):
                    return x.to(self.device) * self.weights
        """,
        "special.py": """
            import torch
            from trainer import Trainer

            class Special(Trainer):
                def __init__(self, device):
                    super().__init__(device)
                    self.weights = torch.ones(3)

                def epoch(self, batches):
                    return [self.step(x) for x in batches]
        """,
        "train.py": f"def run(special):\n    {statement}\n",
    }
    assert lint(tmp_path, "special.py", files) == found


@pytest.mark.parametrize(
    ("last", "found"),
    [
        ("print(picked({'rows': torch.zeros(3, 4)}))", []),
        ("for _ in range(3):\n        print(picked({'rows': torch.zeros(3, 4)}))", []),
        ("ROWS = {'rows': torch.zeros(3, 4)}", ["DEV203:5"]),
        ("print(picked({'rows': torch.zeros(3, 4).to(PLACE)}))", ["DEV203:5"]),
    ],
)
def test_a_program_that_names_no_device_runs_on_the_host(
    tmp_path: Path, last: str, found: list[str]
) -> None:
    program = f"""
    import torch

    def picked(state):
        index = torch.zeros(3, 1, dtype=torch.long)
        return torch.gather(state["rows"].unsqueeze(1).squeeze(1), 1, index)

    {last}
    """
    assert lint(tmp_path, "check.py", {"check.py": program}) == found
    if not found:
        files = {"other.py": "from check import picked\n"}
        assert lint(tmp_path, "check.py", files) == ["DEV203:5"]


CACHE = """
    import torch
    from torch import nn

    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = None

        def forward(self, x):
            if self.table is None or self.table.size(0) != x.size(0):
                self.table = torch.arange(x.size(0), device=x.device)
            return x + self.table
"""
PROGRAM = """
    for size in (3, 4):
        model = Rotary().cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        model(torch.ones(size, device="cuda"))
"""


def test_what_a_program_keeps_for_its_own_model(tmp_path: Path) -> None:
    def kept(files: dict[str, str]) -> list[str]:
        found = lint(tmp_path, "main.py", files)
        return [each for each in found if each.startswith("DEV401")]

    assert kept({"main.py": CACHE}) == ["DEV401:8"]
    assert kept({"main.py": CACHE + PROGRAM}) == []
    assert OWN_MODEL in REASONS
    again = PROGRAM + "        model.cpu()(torch.ones(size))\n"
    assert kept({"main.py": CACHE + again}) == ["DEV401:8"]
    assert kept({"main.py": CACHE + PROGRAM}) == []
    assert kept({"other.py": "from main import Rotary\n"}) == ["DEV401:8"]


@pytest.mark.parametrize("store", ["net.table = torch.ones(3).cuda()", "setattr(net, 'table', x)"])
def test_a_plain_tensor_that_another_file_stores_anew(tmp_path: Path, store: str) -> None:
    files = {"main.py": f"from net import Net\n\ndef build(net, x):\n    {store}\n"}
    assert lint(tmp_path, "net.py", {"net.py": CACHE}) == ["DEV401:8"]
    assert lint(tmp_path, "net.py", files) == []


def test_what_an_autograd_function_keeps_is_of_no_module(tmp_path: Path) -> None:
    function = """
        import torch

        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, table):
                ctx.table = table
                return x
    """
    files = {"net.py": CACHE, "ops.py": function}
    assert lint(tmp_path, "net.py", files) == ["DEV401:8"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("DataLoader(rows)", ["DEV201:9"]),
        ("Windows(rows, device)", []),
        ("DataLoader(rows, collate_fn=lambda each: torch.stack(each).to(device))", []),
    ],
)
def test_a_loader_of_a_class_that_another_file_gives(
    tmp_path: Path, given: str, found: list[str]
) -> None:
    """What is called a loader is one unless a call gives something that yields as it likes."""
    files = {
        "fit.py": """
            import torch

            class Forecaster:
                def __init__(self, model, device):
                    self.model = model.to(device)

                def predict(self, loader):
                    return [self.model(past) for past in loader]
        """,
        "main.py": f"""
            import torch
            from torch.utils.data import DataLoader
            from fit import Forecaster

            class Windows:
                def __init__(self, rows, device):
                    self.rows, self.device = rows, device

                def __iter__(self):
                    for row in self.rows:
                        yield row.to(self.device)

            def main(rows):
                device = torch.device("cuda")
                return Forecaster(torch.nn.Linear(2, 2), device).predict({given})
        """,
    }
    assert lint(tmp_path, "fit.py", files) == found


KEPT = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.mask = None

        def set_up(self, count):
            self.mask = torch.tril(torch.ones(count, count))

        def forward(self, x):
            return self.layer(x) * self.mask
"""


@pytest.mark.parametrize(
    ("main", "found"),
    [
        ("with torch.device(device):\n        net.set_up(3)", []),
        ("with torch.no_grad(), torch.device('cuda'):\n        net.set_up(3)", []),
        ("with torch.device('meta'):\n        net.set_up(3)", ["DEV401:12"]),
        ("with torch.cuda.device(device):\n        net.set_up(3)", ["DEV401:12"]),
        ("with torch.device(device):\n        net.set_up(3)\n    net.set_up(4)", ["DEV401:12"]),
    ],
)
def test_a_default_device_that_another_file_lends(
    tmp_path: Path, main: str, found: list[str]
) -> None:
    program = f"import torch\nfrom net import Net\n\ndef run(net, device):\n    {main}\n"
    assert lint(tmp_path, "net.py", {"net.py": KEPT}) == ["DEV401:12"]
    assert lint(tmp_path, "net.py", {"main.py": program}) == found


LOSS = """
    import torch
    from torch import nn


    class Loss(nn.Module):
        def __init__(self, count):
            super().__init__()
            self.register_buffer("weights", torch.ones(count))
            self.distance = nn.CrossEntropyLoss(weight=self.weights)

        def of_classes(self, predictions, rows, index):
            found = torch.full((3, 4), 1, device=predictions.device)
            found[index] = torch.cat([row[0] for row in rows])
            return self.distance(predictions, found)

        def forward(self, masks, predictions, rows):
            rows = [each.long().to(masks.device) for each in rows]
            return self.of_classes(predictions, rows, masks.argmax(1))

    if __name__ == "__main__":
        from torch.utils.data import DataLoader
        from models import network

        torch.cuda.manual_seed_all(0)
        net, loss = network(3), Loss(5)
        for images, rows in DataLoader([1, 2]):
            masks, predictions = net(images)
            print(loss(masks, predictions, rows), {last})
"""


@pytest.mark.parametrize(("last", "found"), [("4", []), ("rows[0].device", ["DEV208:26"])])
def test_a_program_that_shows_a_class_on_the_host(
    tmp_path: Path, last: str, found: list[str]
) -> None:
    """The class speaks of devices, but nothing that runs there does; seeds are on none."""
    text = LOSS.format(last=last)
    codes = lint(tmp_path, "loss.py", {"loss.py": text}, Settings(pedantic=True))
    assert [each for each in codes if each.startswith("DEV2")] == found
