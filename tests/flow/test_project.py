"""Names of other files: found where they are written, and used as those of the same file are."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from devlint.config.settings import Settings
from devlint.flow.bodies import functions
from devlint.lint import check, check_source
from devlint.project.plan import prepare

FOLLOWING = Settings(pedantic=True)
ALONE = Settings(follow_imports=False, pedantic=True)


class Tree:
    """A small project on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "pyproject.toml").touch()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")

    def lint(self, name: str, settings: Settings = FOLLOWING) -> list[str]:
        """The codes found in a file, with their rows."""
        path = self.root / name
        findings = check_source(path.read_bytes(), str(path), settings)
        return [f"{finding.code}:{finding.span.row}" for finding in findings]

    def consulted(self, name: str) -> set[str]:
        path = self.root / name
        found = check(path.read_bytes(), str(path), FOLLOWING).consulted
        return {str(Path(each).relative_to(self.root)) for each in found}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


USE = """
    import torch
    {imports}

    x = torch.ones(3, device=accelerator)
    y = {made}
    z = x + y
"""


def using(imports: str, made: str, accelerator: str = '"hpu"') -> str:
    return (
        textwrap.dedent(USE).format(imports=imports, made=made).replace("accelerator", accelerator)
    )


MAKE = """
    import torch

    def make(n):
        return torch.zeros(n)
"""


@pytest.mark.parametrize(
    ("imports", "made"),
    [
        ("from helpers import make", "make(3)"),
        ("from helpers import make as build", "build(3)"),
        ("import helpers", "helpers.make(3)"),
        ("import helpers as h", "h.make(3)"),
        ("from helpers import *", "make(3)"),
    ],
)
def test_a_function_of_another_file(tree: Tree, imports: str, made: str) -> None:
    tree.write({"helpers.py": MAKE, "train.py": using(imports, made)})
    assert "DEV202:7" in tree.lint("train.py")
    assert "DEV202:7" not in tree.lint("train.py", ALONE)


@pytest.mark.parametrize("imports", ["from helpers import *", "from helpers import make"])
def test_a_function_that_calls_one_of_a_third_file(tree: Tree, imports: str) -> None:
    """Also where it has that one from `import *`, which no name of its file stands for."""
    zoo = f"{imports}\n\n\ndef build(n):\n    return make(n)\n"
    tree.write(
        {
            "helpers.py": MAKE,
            "zoo.py": zoo,
            "train.py": using("from zoo import build", "build(3)"),
        }
    )
    assert "DEV202:7" in tree.lint("train.py")


@pytest.mark.parametrize(
    ("imports", "made"),
    [
        ("from .helpers import make", "make(3)"),
        ("from . import helpers", "helpers.make(3)"),
        ("from pkg.helpers import make", "make(3)"),
        ("import pkg.helpers", "pkg.helpers.make(3)"),
        ("import pkg", "pkg.helpers.make(3)"),
        ("from .sub import make", "make(3)"),
        ("from .sub.deep import again", "again(3)"),
        ("from .sub.all import make", "make(3)"),
    ],
)
@pytest.mark.parametrize("source", ["", "src/"])
def test_packages(tree: Tree, imports: str, made: str, source: str) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/helpers.py": MAKE,
        "pkg/sub/__init__.py": "from ..helpers import make\n",
        "pkg/sub/deep.py": "from .. import helpers\n\nagain = helpers.make\n",
        "pkg/sub/all.py": "from pkg.helpers import *\n",
        "pkg/train.py": using(imports, made),
    }
    tree.write({f"{source}{name}": text for name, text in files.items()})
    assert "DEV202:7" in tree.lint(f"{source}pkg/train.py")


@pytest.mark.parametrize("source", ["src", "lib"])
def test_a_script_finds_a_package_below_the_root(tree: Tree, source: str) -> None:
    tree.write(
        {
            f"{source}/pkg/__init__.py": "",
            f"{source}/pkg/helpers.py": MAKE,
            "scripts/train.py": using("from pkg.helpers import make", "make(3)"),
        }
    )
    assert "DEV202:7" in tree.lint("scripts/train.py")


@pytest.mark.parametrize("around", ["scripts/__init__.py", "scripts/README.md"])
def test_a_script_in_a_package_finds_the_one_beside_it(tree: Tree, around: str) -> None:
    tree.write(
        {
            around: "",
            "scripts/nerf/__init__.py": "",
            "scripts/nerf/nerf/__init__.py": "",
            "scripts/nerf/nerf/making.py": MAKE,
            "scripts/nerf/train.py": using("from nerf.making import make", "make(3)"),
        }
    )
    assert tree.lint("scripts/nerf/train.py") == ["DEV202:7"]


@pytest.mark.parametrize(("root", "found"), [(".git/HEAD", ["DEV202:7"]), ("README.md", [])])
def test_the_root_of_a_checkout_may_be_a_package(tree: Tree, root: str, found: list[str]) -> None:
    tree.write(
        {
            f"repo/{root}": "",
            "repo/__init__.py": "",
            "repo/utils/making.py": MAKE,
            "repo/models/__init__.py": "",
            "repo/models/net.py": using("from utils.making import make", "make(3)"),
            "repo/models/head.py": using("from repo.utils.making import make", "make(3)"),
        }
    )
    assert tree.lint("repo/models/net.py") == found
    assert tree.lint("repo/models/head.py") == ["DEV202:7"]


def test_files_that_import_each_other(tree: Tree) -> None:
    tree.write(
        {
            "a.py": using("import b", "b.make(3)") + "\ndef one():\n    return 1\n",
            "b.py": "import a\n" + textwrap.dedent(MAKE) + "\nNUMBER = a.one()\n",
        }
    )
    assert "DEV202:7" in tree.lint("a.py")
    assert tree.lint("b.py") == []


BASE = """
    import torch
    from torch import nn

    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(3, 3)
"""
NET = """
    import torch
    from base import Base

    class Net(Base):
        def forward(self, x):
            return self.proj(x)

    net = Net()
    print(net.device)
"""


def test_a_base_class_of_another_file(tree: Tree) -> None:
    tree.write({"base.py": BASE, "net.py": NET})
    assert tree.lint("net.py") == ["DEV303:10"]
    assert tree.lint("net.py", ALONE) == []


def test_a_class_that_is_called_like_its_base(tree: Tree) -> None:
    tree.write(
        {
            "models.py": """
                import torch
                from torch import nn
                from zoo import Model, Part

                class Model(Model):
                    pass

                class Part(Model):
                    def __init__(self):
                        super().__init__()
                        self.layer = nn.Linear(3, 3)
            """,
            "use.py": """
                import torch
                from models import Part

                part = Part()
                part(torch.ones(3, device="hpu") + torch.ones(3))
            """,
        }
    )
    assert tree.lint("use.py") == ["DEV202:6"]


def test_a_base_class_that_has_the_attribute(tree: Tree) -> None:
    own = """
        @property
        def device(self):
            return self.proj.weight.device
    """
    base = textwrap.dedent(BASE) + textwrap.indent(textwrap.dedent(own), "    ")
    tree.write({"base.py": base, "net.py": NET})
    assert tree.lint("net.py") == []


LOOP = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    from net import Net

    model = Net().to("hpu")
    for batch in DataLoader([1.0]):
        model(batch)
"""


@pytest.mark.parametrize(
    ("body", "found"), [("self.fc(x)", True), ("self.fc(x.to(self.fc.weight.device))", False)]
)
def test_a_forward_that_moves_its_input(tree: Tree, body: str, found: bool) -> None:
    net = f"""
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(1, 1)

            def forward(self, x):
                return {body}
    """
    tree.write({"net.py": net, "loop.py": LOOP})
    assert ("DEV201:9" in tree.lint("loop.py")) is found


def test_constants_and_loaders_of_another_file(tree: Tree) -> None:
    settings = """
        import torch
        from torch.utils.data import DataLoader

        DEVICE = torch.device("hpu")
        loader = DataLoader([1.0])
    """
    loop = """
        import torch
        from torch import nn
        import settings
        from settings import DEVICE, loader

        model = nn.Linear(1, 1).to(DEVICE)
        other = nn.Linear(1, 1).to(settings.DEVICE)
        for batch in loader:
            model(batch)
            other(batch.to(DEVICE))
    """
    tree.write({"settings.py": settings, "loop.py": loop})
    assert "DEV201:10" in tree.lint("loop.py")
    assert "DEV201:11" not in tree.lint("loop.py")


def test_a_module_that_its_own_file_moves(tree: Tree) -> None:
    """What a file does to a name at its top level counts, in functions and as a program not."""
    shared = """
        from torch import nn

        model = nn.Linear(1, 1)
        model.to("hpu")

        if __name__ == "__main__":
            model.to("cpu")
    """
    use = """
        import torch
        from shared import model

        model(torch.ones(1))
    """
    tree.write({"shared.py": shared, "use.py": use})
    assert "DEV201:5" in tree.lint("use.py")


def test_statements_that_need_each_other_run_in_their_order(tree: Tree) -> None:
    tree.write(
        {
            "loading.py": """
                import torch
                from torch import nn

                class Encoder(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.model = nn.Linear(2, 2)

                def load():
                    return Encoder()
            """,
            "setup.py": """
                import os
                import torch
                import loading

                device = "hpu"
                fast = os.environ.get("FAST") == "1"
                loading.fast = fast

                encoder = loading.load()
                if fast:
                    encoder = encoder.half().to(device)
                else:
                    encoder = encoder.to(device)
            """,
            "run.py": """
                import torch
                from setup import encoder

                def encode():
                    return encoder.model(torch.ones(1, 2, device="hpu"))
            """,
        }
    )
    assert tree.lint("run.py") == []


def test_places_that_only_another_file_can_tell_apart(tree: Tree) -> None:
    """`args` of another file is another `args`."""
    other = """
        import argparse, torch

        args = argparse.ArgumentParser().parse_args()
        DEVICE = torch.device(args.device)
    """
    use = """
        import torch
        from other import DEVICE

        def run(args):
            x = torch.ones(3).to(args.device)
            return x + torch.ones(3).to(DEVICE)
    """
    tree.write({"other.py": other, "use.py": use})
    assert tree.lint("use.py") == []


CHOOSE = """
    import torch

    USE_CUDA = torch.cuda.is_available()

    def to_numpy(x):
        return x.cpu().numpy() if USE_CUDA else x.numpy()
"""

CHOOSING = """
    import torch
    {imports}

    def run(n):
        x = torch.zeros(n)
        if {flag}:
            x = x.cuda()
        {call}(x)
        if not {flag}:
            x.numpy()
        x.numpy()
"""


@pytest.mark.parametrize(
    ("imports", "flag", "call"),
    [
        ("from choose import USE_CUDA, to_numpy", "USE_CUDA", "to_numpy"),
        ("from choose import *", "USE_CUDA", "to_numpy"),
        ("import choose", "choose.USE_CUDA", "choose.to_numpy"),
    ],
)
def test_a_condition_of_another_file(tree: Tree, imports: str, flag: str, call: str) -> None:
    text = textwrap.dedent(CHOOSING).format(imports=imports, flag=flag, call=call)
    tree.write({"choose.py": CHOOSE, "a.py": text})
    found = [each for each in tree.lint("a.py") if each.startswith("DEV2")]
    assert found == ["DEV205:12"]


def test_nothing_is_told_of_the_other_file(tree: Tree) -> None:
    """Its own findings are its own, wherever it is used."""
    other = """
        import torch

        def mix(n):
            x = torch.ones(n, device="hpu")
            return x + torch.zeros(n)
    """
    tree.write({"other.py": other, "use.py": "import torch\nfrom other import mix\n\nmix(3)\n"})
    assert any(found.startswith("DEV202") for found in tree.lint("other.py"))
    assert tree.lint("use.py") == []


@pytest.mark.parametrize(
    "text", ["def broken(:\n", "\0", "# -*- coding: nonsense -*-\n", "x = " + "(" * 5000]
)
def test_a_neighbour_that_cannot_be_read(tree: Tree, text: str) -> None:
    tree.write({"helpers.py": text, "train.py": using("from helpers import make", "make(3)")})
    assert "DEV202:7" not in tree.lint("train.py")


def test_installed_packages_and_pythons_own_are_not_followed(tree: Tree) -> None:
    tree.write({"json.py": MAKE, "torch/__init__.py": MAKE})
    tree.write({"train.py": using("import json", "json.make(3)")})
    assert "DEV202:7" not in tree.lint("train.py")


def test_what_a_result_hangs_on(tree: Tree) -> None:
    tree.write(
        {
            "helpers.py": "from deeper import make\n",
            "deeper.py": MAKE,
            "idle.py": MAKE,
            "train.py": using("import idle, absent\nfrom helpers import make", "make(3)"),
        }
    )
    consulted = tree.consulted("train.py")
    assert {"helpers.py", "deeper.py", "absent"} <= consulted
    assert "idle.py" not in consulted


def test_a_neighbour_that_changes_is_read_again(tree: Tree) -> None:
    tree.write({"helpers.py": MAKE, "train.py": using("from helpers import make", "make(3)")})
    assert "DEV202:7" in tree.lint("train.py")
    tree.write({"helpers.py": MAKE.replace("zeros(n)", 'zeros(n, device="hpu")')})
    assert "DEV202:7" not in tree.lint("train.py")


@pytest.mark.parametrize(
    ("part", "found"),
    [("torch.ones(3)", []), ("nn.Linear(3, rate)", ["DEV402:9"]), ("nn.ReLU()", [])],
)
def test_a_list_of_modules_of_another_file(tree: Tree, part: str, found: list[str]) -> None:
    tree.write(
        {
            "parts.py": f"""
                import torch
                from torch import nn

                class Part(nn.Module):
                    def __init__(self, rate):
                        super().__init__()
                        self.rate = rate
                        self.inner = {part}
            """,
            "net.py": """
                from torch import nn

                from parts import Part

                class Net(nn.Module):
                    def __init__(self, rates):
                        super().__init__()
                        self.parts = [Part(rate) for rate in rates]
            """,
        }
    )
    assert tree.lint("net.py") == found


def test_a_long_table_of_names_is_not_followed(tree: Tree) -> None:
    """What a table of all models holds would lead through the whole project."""
    names = [f"make{number}" for number in range(40)]
    tree.write({f"m{name}.py": MAKE.replace("make", name) for name in names})
    imports = "".join(f"from m{name} import {name}\n" for name in names)
    table = "TABLE = {" + ", ".join(f'"{name}": {name}' for name in names) + "}\n"
    tree.write({"tables.py": imports + table + "\n\ndef make(n):\n    return TABLE[n]\n"})
    tree.write({"train.py": using("from tables import TABLE", 'TABLE["make1"](3)')})
    tree.lint("train.py")
    modules = {name for name in tree.consulted("train.py") if "?" not in name}
    assert modules == {"tables.py", "tables/__init__.py"}


def test_a_file_that_was_linted_before_it_is_followed(tree: Tree) -> None:
    """Both share one reading, whose nodes LibCST places for a while."""
    made = f"{textwrap.dedent(MAKE)}\nx = torch.ones(3, device='cuda')\ny = x + make(3)\n"
    tree.write({"helpers.py": made, "use.py": using("from helpers import make", "make(3)")})
    path = tree.root / "use.py"
    (before,) = check_source(path.read_bytes(), str(path), FOLLOWING)
    assert any(step.filename == str(tree.root / "helpers.py") for step in before.trace)
    assert "DEV202:8" in tree.lint("helpers.py")
    assert check_source(path.read_bytes(), str(path), FOLLOWING) == [before]
    path.write_text(f"{path.read_text()}\n")  # all is found out anew
    assert check_source(path.read_bytes(), str(path), FOLLOWING) == [before]


def test_a_name_that_a_function_binds_anew_may_have_any_value(tree: Tree) -> None:
    """What stands at the top of its file is only what it starts with."""
    tree.write(
        {
            "dist.py": """
                rank = -1
                size = -1

                def start():
                    global rank
                    rank = 0
            """,
            "train.py": """
                import torch
                import dist
                from dist import rank, size

                a = torch.device("cuda", dist.rank)
                b = torch.device("cuda", rank)
                c = torch.device("cuda", size)
            """,
        }
    )
    assert [each for each in tree.lint("train.py") if "DEV304" in each] == ["DEV304:8"]


def test_a_name_that_is_only_declared_has_no_value(tree: Tree) -> None:
    tree.write(
        {
            "kept.py": """
                model: object

                def keep(made):
                    global model
                    model = made

                def get():
                    return model
            """,
            "train.py": """
                import torch
                from kept import get, keep

                keep(torch.nn.Linear(3, 3).cuda())
                get()(torch.zeros(3))
                torch.zeros(3).cuda() + torch.ones(3)
            """,
        }
    )
    assert [each for each in tree.lint("train.py") if "DEV2" in each] == ["DEV202:7"]


@pytest.mark.parametrize(
    ("program", "found"),
    [
        ("torch.set_default_tensor_type('torch.cuda.FloatTensor')", []),
        ("torch.set_default_device(device)", []),
        ("torch.set_default_device('cpu')", ["DEV306:6", "DEV203:10"]),
        ("torch.set_default_tensor_type('torch.DoubleTensor')", ["DEV306:6", "DEV203:10"]),
    ],
)
def test_programs_that_import_a_file_say_where_it_makes_tensors(
    tree: Tree, program: str, found: list[str]
) -> None:
    net = """
        import torch
        from torch import nn

        def keep(rows, boxes):
            return torch.Tensor(rows, device=boxes.device)

        class Net(nn.Module):
            def forward(self, x):
                return x.relu() + torch.ones(3)
    """
    tree.write({"layers/net.py": net, "other/net.py": net})
    tree.write({"train.py": f"import torch\nfrom layers.net import Net\n\n{program}\n"})
    assert tree.lint("layers/net.py") == found
    assert tree.lint("other/net.py") == ["DEV306:6", "DEV203:10"]
    assert "layers?default" in tree.consulted("layers/net.py")


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ("import settings\nfrom layers.net import Net", []),
        ("import settings", ["DEV203:6"]),
        ("from layers.net import Net", ["DEV203:6"]),
    ],
)
def test_what_programs_import_beside_a_file_says_where_it_makes_tensors(
    tree: Tree, imports: str, found: list[str]
) -> None:
    net = """
        import torch
        from torch import nn

        def added(x: torch.Tensor):
            return x.relu() + torch.ones(3)
    """
    uses = """
        import torch

        def use_cuda(enabled):
            if enabled:
                torch.set_default_tensor_type("torch.cuda.FloatTensor")
    """
    tree.write({"layers/net.py": net, "settings.py": uses, "train.py": f"{imports}\n"})
    assert tree.lint("layers/net.py") == found


HELPER = """
    import torch

    def normalized(image: torch.Tensor):
        return image / torch.tensor([0.2, 0.3, 0.4])

    class Drawing:
        def __init__(self, size):
            self.size = size

        def put(self, picture: torch.Tensor):
            return picture + torch.zeros(self.size)

        def center(self, graphs):
            for graph in graphs:
                turn = torch.from_numpy(self.size)
                graph.position = torch.relu(graph.position) @ turn

    def sent(x, device):
        return x.to(device)
"""
GIVEN_BY_NOBODY = ["DEV203:5", "DEV203:12", "DEV203:16"]


@pytest.mark.parametrize(
    ("caller", "function", "given", "found"),
    [
        ("view.py", "show", "image.cpu()", []),
        ("view.py", "show", "torch.zeros(3)", []),
        ("view.py", "show", "image", GIVEN_BY_NOBODY),
        ("view.py", "show", "image.to('cuda')", GIVEN_BY_NOBODY),
        ("view.py", "collate_images", "opened(image)", []),
        ("data/samples.py", "show", "opened(image)", GIVEN_BY_NOBODY),
        ("view.py", "show", "opened(image)", GIVEN_BY_NOBODY),
        ("view.py", "test_show", "torch.zeros(3)", GIVEN_BY_NOBODY),
        ("tests/test_view.py", "show", "torch.zeros(3)", []),
    ],
)
def test_what_the_calls_in_other_files_bring(
    tree: Tree, caller: str, function: str, given: str, found: list[str]
) -> None:
    tree.write({"helpers.py": HELPER, "other.py": "def normalized(x):\n    return x\n"})
    assert tree.lint("helpers.py") == GIVEN_BY_NOBODY
    tree.write(
        {
            caller: f"""
                import torch
                from helpers import Drawing, normalized
                from images import opened

                def {function}(image, device):
                    image = image.to(device)
                    Drawing(3).center([{given}])
                    return normalized({given}), Drawing(3).put({given})
            """
        }
    )
    assert tree.lint("helpers.py") == found
    assert tree.lint("helpers.py", ALONE) == GIVEN_BY_NOBODY


def test_one_call_that_brings_an_accelerator_is_enough(tree: Tree) -> None:
    use = "from helpers import normalized\n\ndef show(x):\n    return normalized(x{})\n"
    tree.write({"helpers.py": HELPER, "a.py": use.format(".cpu()")})
    assert tree.lint("helpers.py") == GIVEN_BY_NOBODY[1:]
    tree.write({"b.py": use.format(".cuda()")})
    assert tree.lint("helpers.py") == GIVEN_BY_NOBODY


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("show(normalized(x).detach(), x.cuda())", GIVEN_BY_NOBODY[1:]),
        ("x = normalized(x)\n        show(x.cuda())", GIVEN_BY_NOBODY[1:]),
        ("x = normalized(x)\n        show(x.to(device))", GIVEN_BY_NOBODY[1:]),
        ("x = normalized(x)\n        x, y = to_cuda(x, y)", GIVEN_BY_NOBODY),
        ("x = normalized(x)\n        show(x.cpu())", GIVEN_BY_NOBODY),
        ("x = normalized(x)\n        show(x.to(torch.float16))", GIVEN_BY_NOBODY),
        ("show(x.cuda())\n        normalized(x)", GIVEN_BY_NOBODY[1:]),
        ("x = x.cuda()\n        x = normalized(x)\n        show(x.cuda())", GIVEN_BY_NOBODY),
        ("x = normalized(x)\n        y = to_cuda(y)", GIVEN_BY_NOBODY),
    ],
)
def test_what_is_sent_to_an_accelerator_after_a_call(
    tree: Tree, shown: str, found: list[str]
) -> None:
    tree.write(
        {
            "helpers.py": HELPER,
            "use.py": f"""
                import torch
                from helpers import normalized
                from shows import show, to_cuda

                def run(loaders, device):
                    for step, batch in enumerate(loaders):
                        x, y = batch
                        {shown.replace("        ", " " * 24)}
            """,
        }
    )
    assert tree.lint("helpers.py") == found


@pytest.mark.parametrize(("given", "found"), [("img", []), ("img.to(device)", ["DEV203:5"])])
def test_a_batch_that_is_changed_before_it_is_sent(
    tree: Tree, given: str, found: list[str]
) -> None:
    tree.write(
        {
            "test.py": f"""
                import torch

                def flipped(img):
                    order = torch.arange(img.size(3) - 1, -1, -1)
                    return img.index_select(3, order)

                def features(model, loaders, device):
                    for step, data in enumerate(loaders):
                        img, label = data
                        for turn in range(2):
                            if turn == 1:
                                img = flipped({given})
                            model(img.to(device))
            """,
        }
    )
    assert tree.lint("test.py") == found


def test_another_file_says_that_all_processes_are_on_one_machine(tree: Tree) -> None:
    sampler = """
        import torch
        import torch.distributed as dist

        def place():
            torch.cuda.set_device(dist.get_rank())
    """
    tree.write({"sampler.py": sampler, "train.py": "import os\n\nos.environ['PORT'] = '1'\n"})
    assert "DEV409:6" in tree.lint("sampler.py")
    tree.write({"train.py": "import os\n\nos.environ['MASTER_ADDR'] = '127.0.0.1'\n"})
    assert "DEV409:6" not in tree.lint("sampler.py")


BACKBONE = """
    import torch
    from torch import nn

    class Backbone(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.table = nn.Parameter(torch.zeros(size))

        def extend(self, count):
            self.table = nn.Parameter(torch.cat([self.table, torch.zeros(count)]))
"""


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("Backbone(3).extend(2)", []),
        ("Backbone(3).to(device).extend(2)", ["DEV203:11"]),
        ("Detector(3)", []),
        ("Detector(3).to(device).extend()", ["DEV203:11"]),
    ],
)
def test_where_a_module_is_when_its_methods_are_called(
    tree: Tree, use: str, found: list[str]
) -> None:
    tree.write({"backbone.py": BACKBONE})
    assert tree.lint("backbone.py") == ["DEV203:11"]
    in_method = "def extend(self): self.backbone.extend(2)" if "extend()" in use else "pass"
    tree.write(
        {
            "detector.py": f"""
                import torch
                from torch import nn
                from backbone import Backbone

                class Detector(nn.Module):
                    def __init__(self, size):
                        super().__init__()
                        self.backbone = Backbone(size)
                        self.backbone.extend(2)

                    {in_method}

                def build(device):
                    return {use}
            """
        }
    )
    assert tree.lint("backbone.py") == found


PLACED = """
    import torch

    def export(model, device):
        rows = torch.randn(3, device=device)
        return model.to(device)(rows) + torch.ones(3)

    class Sampler:
        def __init__(self, size):
            self.size = size

        def __call__(self, triples: torch.Tensor):
            return triples + torch.randint(self.size, triples.shape)
"""


@pytest.mark.parametrize(
    ("device", "triples", "found"),
    [
        ("'cpu'", "triples.cpu()", []),
        ("args.device", "triples.cpu()", ["DEV203:6"]),
        ("torch.device('cpu')", "triples.cuda()", ["DEV203:13"]),
        ("'cuda'", "triples", ["DEV203:6", "DEV203:13"]),
    ],
)
def test_what_calls_give_for_a_device_and_to_an_object(
    tree: Tree, device: str, triples: str, found: list[str]
) -> None:
    tree.write({"place.py": PLACED})
    assert tree.lint("place.py") == ["DEV203:6", "DEV203:13"]
    tree.write(
        {
            "program.py": f"""
                import torch
                from place import Sampler, export
                from models import load

                def run(args, triples):
                    export(load(args), {device})
                    return Sampler(3)({triples})
            """
        }
    )
    assert tree.lint("place.py") == found


def test_a_function_with_many_callers_is_taken_for_everybodys(tree: Tree) -> None:
    use = "from helpers import normalized\n\ndef show(x):\n    return normalized(x.cpu())\n"
    tree.write({"helpers.py": HELPER} | {f"use{i}.py": use for i in range(10)})
    assert tree.lint("helpers.py") == GIVEN_BY_NOBODY


def test_a_name_that_is_bound_twice_has_its_last_value(tree: Tree) -> None:
    tree.write(
        {
            "pretrained.py": """
                import torch
                from torch import nn

                device = "cpu"
                if torch.cuda.is_available():
                    device = "cuda"

                def load(path):
                    model = nn.Linear(2, 2)
                    model.load_state_dict(torch.load(path, map_location=device))
                    return model.to(device)
            """,
            "use.py": """
                import torch
                from pretrained import load

                device = "cuda" if torch.cuda.is_available() else "cpu"
                model = load("weights.pt")
                model(torch.ones(1, 2, device=device))
            """,
        }
    )
    assert tree.lint("use.py") == []


REGISTRY = """
    import torch

    SCHEDULES = {}

    def register(name):
        def keep(function):
            SCHEDULES[name] = function
            return function
        return keep

    @register("linear")
    def linear(n):
        return torch.linspace(0, 1, n)

    @register("there")
    def there(n):
        return torch.linspace(0, 1, n, device="hpu")

    def build(kind="linear"):
        return SCHEDULES[kind](3)
"""


@pytest.mark.parametrize(
    ("made", "is_elsewhere"),
    [
        ("build()", True),
        ('build("linear")', True),
        ('build("there")', False),
        ('SCHEDULES["linear"](3)', True),
        ('SCHEDULES["there"](3)', False),
        ('SCHEDULES["absent"](3)', False),
    ],
)
def test_a_registry_that_decorators_fill(tree: Tree, made: str, is_elsewhere: bool) -> None:
    tree.write({"helpers.py": REGISTRY, "train.py": using("from helpers import *", made)})
    assert ("DEV202:7" in tree.lint("train.py")) == is_elsewhere


CHAIN = {
    "trainer.py": """
        class Trainer:
            def __init__(self, net, problem):
                self.net, self.problem = net, problem

            def run(self, steps):
                for _ in range(steps):
                    self.problem.total(self.net)
    """,
    "problem.py": """
        class Problem:
            def __init__(self, shape, device):
                self.shape, self.device = shape, device

            def edges(self, net):
                points = self.shape.edges(self.device)
                return (net(points) - self.shape.values()).square().mean()

            def total(self, net):
                return 2 * self.edges(net)
    """,
    "shapes.py": """
        import torch

        class Square:
            def edges(self, device):
                return torch.rand(8, 2, device=device)

            def values(self):
                return torch.linspace(0, 1, 8)
    """,
    "main.py": """
        import torch
        from problem import Problem
        from shapes import Square
        from torch import nn
        from trainer import Trainer

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        problem = Problem(Square(), device)
        Trainer(nn.Linear(2, 1).to(device), problem).run(3)
    """,
}


@pytest.mark.parametrize(("statements", "is_told"), [(0, True), (16, False)])
def test_what_goes_wrong_far_away_is_told_of_short_functions(
    tree: Tree, statements: int, is_told: bool
) -> None:
    tree.write(CHAIN)
    text = (tree.root / "problem.py").read_text()
    head = "def edges(self, net):\n"
    more = "".join(f"        x{number} = {number}\n" for number in range(statements))
    (tree.root / "problem.py").write_text(text.replace(head, head + more))
    assert ("DEV202:10" in tree.lint("main.py")) == is_told


FAR = {
    "first.py": """
        from argparse import ArgumentParser
        from second import build

        class Options:
            def __init__(self, device):
                self.device = device

        def parse():
            return ArgumentParser().parse_args()

        def setup(*args, **options):
            return build(*args, **options)
    """,
    "second.py": """
        from third import make

        def build(*args, **options):
            return make(*args, **options)
    """,
    "third.py": """
        import torch
        from torch import nn

        def make({parameters}):
            {more}
            {body}
    """,
    "main.py": """
        import torch
        from first import Options, parse, setup
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        here, options = Options(device), parse()
        x = torch.ones(3, device=device)
        made = setup({given})
        print({meeting})
    """,
}


def far(tree: Tree, parameters: str, body: str, given: str, meeting: str) -> list[str]:
    """What is found in a script that calls a function of 20 statements, three files away."""
    more = "\n            ".join(f"n{number} = {number}" for number in range(20))
    third = FAR["third.py"].format(parameters=parameters, more=more, body=body)
    main = FAR["main.py"].format(given=given, meeting=meeting)
    tree.write({**FAR, "third.py": third, "main.py": main})
    return tree.lint("main.py")


@pytest.mark.parametrize(
    ("parameters", "body", "given", "meeting", "codes"),
    [
        pytest.param("n", "return torch.zeros(n)", "3", "made + x", ["DEV202:8"], id="made"),
        pytest.param(
            "n", "return nn.Linear(n, n).cuda()", "3", "made(torch.ones(3))", ["DEV201:8"],
            id="a module",
        ),
        pytest.param(
            "n, d", "return torch.zeros(n, device=d)", "3, device", "made + torch.ones(3)",
            ["DEV202:8"], id="on the device that is given",
        ),
        pytest.param(
            "n, d", "return torch.zeros(n, device=d)", "3, d=device", "made + x", [],
            id="on the same device",
        ),
        pytest.param(
            "n, d=None",
            "return torch.zeros(n) if d is None else torch.zeros(n, device=d)",
            "3", "made + x", ["DEV202:8"], id="nothing is given",
        ),
        pytest.param(
            "n, d=None",
            "return torch.zeros(n) if d is None else torch.zeros(n, device=d)",
            "3, device", "made + x", [], id="something is given",
        ),
        pytest.param(
            "n, x", "return torch.zeros(n, device=x.device)", "3, x", "made + torch.ones(3)",
            ["DEV202:8"], id="where an argument is",
        ),
        pytest.param(
            "x", "return x", "x", "made + torch.ones(3)", ["DEV202:8"], id="the argument",
        ),
        pytest.param(
            "args", "return torch.zeros(3, device=args.device)", "here",
            "made + torch.ones(3)", ["DEV202:8"], id="an attribute of an object",
        ),
        pytest.param(
            "args", "return torch.zeros(3, device=args.device)", "here", "made + x", [],
            id="the same attribute of an object",
        ),
        pytest.param(
            "args", "return torch.zeros(3, device=args.device)", "options",
            "made + torch.ones(3)", ["DEV202:8"], id="an option",
        ),
        pytest.param(
            "n, d", "return {'mask': torch.zeros(n, device=d)}", "3, device",
            "made['mask'] + torch.ones(3)", ["DEV202:8"], id="in a dict",
        ),
        pytest.param(
            "n, d", "return (nn.Linear(n, n).to(d), n)", "3, device",
            "made[0](torch.ones(3))", ["DEV201:8"], id="a module in a tuple",
        ),
        pytest.param(
            "n", "import os\n            on_host = bool(os.environ)\n"
            "            return torch.zeros(n, device='cpu' if on_host else 'cuda')",
            "3", "made + x", [], id="what it found out itself",
        ),
    ],
)  # fmt: skip
def test_long_functions_far_away_give_what_their_arguments_say(
    tree: Tree, parameters: str, body: str, given: str, meeting: str, codes: list[str]
) -> None:
    assert far(tree, parameters, body, given, meeting) == codes


def test_a_long_function_far_away_runs_once_for_all_calls(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, run = [], functions._run_here

    def counted(frame: Any, call: Any) -> Any:
        runs.append(call.closure.name)
        return run(frame, call)

    monkeypatch.setattr(functions, "_run_here", counted)
    meeting = "setup(1, x) + setup(2, torch.ones(3, device='cpu'))"
    assert far(tree, "n, x", "return torch.zeros(n, device=x.device)", "3, x", meeting) == [
        "DEV202:8"
    ]
    assert runs.count("build") == 3
    assert runs.count("make") == 1


@pytest.mark.parametrize("statements", [0, 300])
def test_functions_nearby_are_followed_however_long(tree: Tree, statements: int) -> None:
    more = "".join(f"    x{number} = {number}\n" for number in range(statements))
    tree.write({"parts.py": "", "main.py": ""})
    (tree.root / "parts.py").write_text(
        f"import torch\n\n\ndef made(n):\n{more}    return torch.ones(n)\n"
    )
    (tree.root / "main.py").write_text(
        "import torch\nfrom parts import made\n\n"
        'x = torch.ones(3, device="cuda")\nprint(x + made(3))\n'
    )
    assert "DEV202:5" in tree.lint("main.py")


PARTS = """
    import torch
    from torch import nn

    class Source:
        def draw(self):
            return torch.ones(3)

    class Engine:
        def __init__(self, source):
            self.source = source
            self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            self.net = nn.Linear(3, 1).to(self.device)

        def step(self):
            return self.net(self.source.draw())
"""
PROGRAM = """
    from parts import Engine, Source

    def main():
        engine = Engine(Source())
        engine.step()

    if __name__ == "__main__":
        main()
"""


def test_a_program_that_names_nothing_of_pytorch(tree: Tree) -> None:
    tree.write({"parts.py": PARTS, "run.py": PROGRAM})
    assert tree.lint("run.py") == ["DEV201:6"]
    assert tree.lint("parts.py") == []
    tree.write({"parts.py": PARTS.replace("draw())", "draw().to(self.device))")})
    assert tree.lint("run.py") == []


def test_a_parameter_goes_with_its_module_whoever_holds_it(tree: Tree) -> None:
    """A class is given tensors of the host alone, or a module's parameters, which are made there
    and moved in place."""
    noise = """
        import torch


        class Noise:
            def __init__(self, mean: torch.Tensor):
                self.mean = mean
                self.normal = torch.distributions.Normal(0, 1)

            def sample(self):
                return torch.exp(self.mean) * self.normal.sample(self.mean.size())
    """
    layer = """
        import torch
        from torch import nn

        from noise import Noise


        class Layer(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.mean = {made}
                self.noise = Noise(self.mean)
    """
    tree.write({"noise.py": noise, "layer.py": layer.format(made="nn.Parameter(torch.zeros(n))")})
    assert tree.lint("noise.py") == ["DEV203:11"]
    tree.write({"noise.py": noise, "layer.py": layer.format(made="torch.zeros(n)")})
    assert tree.lint("noise.py") == []


def test_a_model_that_is_asked_where_it_is(tree: Tree) -> None:
    """What another function finds out of it is no condition of its own."""
    helpers = """
        import torch
        from torch.utils.data import DataLoader


        def train(model: torch.nn.Module, loader: DataLoader):
            use_cuda = next(model.parameters()).is_cuda
            if use_cuda:
                device = torch.device("cuda:0")
            else:
                device = torch.device("cpu")
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                model(x)


        def train_on_samples(model: torch.nn.Module):
            train(model, DataLoader(range(3)))
    """
    main = """
        import torch
        from torchvision import models

        from helpers import train_on_samples


        def main():
            model = models.resnet18(num_classes=10)
            if torch.cuda.is_available():
                device = torch.device("cuda:0")
                model.to(device)
            train_on_samples(model)
    """
    tree.write({"helpers.py": helpers, "main.py": main})
    assert [each for each in tree.lint("main.py") if not each.startswith("DEV103")] == []


def test_one_of_several_objects_has_what_its_method_stores(tree: Tree) -> None:
    """Whichever of them it is."""
    net = """
        import torch
        from torch import nn


        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.mean = torch.zeros(1, 3, 1, 1)
                self.layer = nn.Conv2d(3, 3, n)

            def forward(self, x):
                self.mean = self.mean.type_as(x)
                return self.layer(x - self.mean)
    """
    main = """
        import torch

        from net import Net


        def define(task):
            if task == "a":
                net = Net(3)
            elif task == "b":
                net = Net(4)
            else:
                net = Net(5)
            return net


        def main(x, task):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = define(task).to(device)
            return net(torch.from_numpy(x).to(device))
    """
    tree.write({"net.py": net, "main.py": main})
    assert tree.lint("main.py") == []


def test_tests_of_the_host_say_nothing_of_what_they_test(tree: Tree) -> None:
    net = """
        import torch
        from torch import nn


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)

            def forward(self, x):
                return self.layer(x) + torch.ones(3)
    """
    tests = """
        import torch

        from net import Net


        def test_net():
            assert Net()(torch.ones(2, 3)).shape == (2, 3)
    """
    tree.write({"net.py": net, "test_net.py": tests})
    assert tree.lint("net.py") == ["DEV203:12"]


@pytest.mark.parametrize(("moved", "is_elsewhere"), [("copied", True), ("student", False)])
def test_a_device_that_is_asked_for_or_is_what_is_there(
    tree: Tree, moved: str, is_elsewhere: bool
) -> None:
    teacher = """
        import copy


        class Teacher:
            def __init__(self, student):
                self.module = copy.deepcopy(student)

            def __call__(self, x):
                return self.module(x)
    """
    order = "teacher = Teacher(net)\n            net.to(device)"
    other = "net.to(device)\n            teacher = Teacher(net)"
    main = f"""
        import torch
        from torch import nn

        from teacher import Teacher


        def pick(name):
            if name != "auto":
                return torch.device(name)
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")


        def main(x, name):
            device = pick(name)
            net = nn.Linear(3, 3)
            {order if moved == "copied" else other}
            return teacher(x.to(device)), net
    """
    tree.write({"teacher.py": teacher, "main.py": main})
    assert tree.lint("main.py") == (["DEV208:19"] if is_elsewhere else [])


def test_state_that_another_file_loads_before_the_move(tree: Tree) -> None:
    restoring = """
        import torch


        def restore(path, net, optimizer):
            saved = torch.load(path, map_location="cpu")
            net.load_state_dict(saved["net"])
            optimizer.load_state_dict(saved["optimizer"])
    """
    main = """
        import torch
        from torch import nn

        from restoring import restore


        def main(path, device):
            net = nn.Linear(3, 3)
            optimizer = torch.optim.Adam(net.parameters())
            restore(path, net, optimizer)
            net.to(device)
            return net, optimizer


        def other(path, device):
            net = nn.Linear(3, 3).to(device)
            optimizer = torch.optim.Adam(net.parameters())
            restore(path, net, optimizer)
            return net, optimizer
    """
    tree.write({"restoring.py": restoring, "main.py": main})
    assert tree.lint("main.py") == ["DEV403:12"]


@pytest.mark.parametrize(
    "fill",
    [
        "self.blocks = [nn.Linear(3, 3) for _ in range(depth)]",
        "self.blocks = []\n                for _ in range(depth):\n"
        "                    self.blocks.append(nn.Linear(3, 3))",
    ],
)
def test_a_list_of_modules_is_told_of_where_it_is(tree: Tree, fill: str) -> None:
    net = f"""
        from torch import nn


        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                {fill}

            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
    """
    main = """
        import torch

        from net import Net


        def main(x):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = Net(3).to(device)
            return net(x.to(device))
    """
    tree.write({"net.py": net, "main.py": main})
    assert [each.partition(":")[0] for each in tree.lint("net.py")] == ["DEV402"]
    assert tree.lint("main.py") == []


# --- what the linted files of a project share ----------------------------------------------------

HELPERS = """
    import torch

    def table(size):
        rows = torch.zeros(size, 3)
        return rows + 1

    def fast(rows, deep):
        if deep:
            return fast(rows, False)
        return rows.to("cuda:1")
"""
USES = """
    import torch
    from helpers import fast, table

    x = table(4)
    y = fast(x, {deep})
    z = x + y
"""


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that run inside of calls, by their names."""
    seen: list[str] = []
    run = functions._run_here

    def counted(frame: Any, call: Any) -> Any:
        seen.append(call.closure.name)
        return run(frame, call)

    monkeypatch.setattr(functions, "_run_here", counted)
    return seen


def test_a_function_of_another_file_runs_once_for_all(tree: Tree, runs: list[str]) -> None:
    uses = {f"{name}.py": USES.format(deep=False) for name in "abc"}
    tree.write({"helpers.py": HELPERS, **uses})
    assert [tree.lint(name) for name in uses] == [["DEV202:7"]] * 3
    assert runs == ["table", "fast"]


def test_one_that_calls_itself_runs_once_for_all(tree: Tree, runs: list[str]) -> None:
    uses = {f"{name}.py": USES.format(deep=True) for name in "ab"}
    tree.write({"helpers.py": HELPERS, **uses})
    assert tree.lint("a.py") == tree.lint("b.py")
    assert runs == ["table", "fast"]


EACH_OTHER = """
    import torch

    def even(x, deep=False):
        return odd(x, deep) if deep else x.to("cuda:1")

    def odd(x, deep=False):
        y = even(x, True) if deep else x
        return y.to("cuda:1") if deep else even(x)

    def both(x):
        return odd(even(x))
"""
USES_EACH_OTHER = """
    import torch
    from helpers import both, even, odd

    x = torch.ones(4)
    z = x + {call}
"""


@pytest.mark.parametrize("order", [*itertools.permutations("abcd")], ids="".join)
def test_what_functions_give_that_call_each_other_hangs_on_no_order(
    tree: Tree, runs: list[str], order: Sequence[str]
) -> None:
    calls = {"a": "even(x, True)", "b": "odd(x, True)", "c": "both(x)", "d": "even(odd(x, True))"}
    uses = {f"{name}.py": USES_EACH_OTHER.format(call=call) for name, call in calls.items()}
    tree.write({"helpers.py": EACH_OTHER, **uses})
    found = {name: tree.lint(f"{name}.py") for name in order}
    assert found == {name: ["DEV202:6"] for name in order}
    before = len(runs)
    assert [tree.lint(f"{name}.py") for name in order] == [["DEV202:6"]] * 4
    assert len(runs) == before


def test_what_is_shared_hangs_on_all_files_behind_it(tree: Tree) -> None:
    placing = "import torch\ndef place(x):\n    return x.to({device!r})\n"
    middle = "from placing import place\ndef placed(x):\n    return place(x)\n"
    use = "import torch\nfrom middle import placed\nx = torch.ones(2)\ny = x + placed(x)\n"
    tree.write({"placing.py": placing.format(device="cuda:1"), "middle.py": middle})
    tree.write({"a.py": use, "b.py": use})
    assert tree.lint("a.py") == ["DEV202:4"]
    first, then = ({p for p in tree.consulted(f"{n}.py") if p[0] != n} for n in "ab")
    assert then == first >= {"placing.py", "middle.py"}
    tree.write({"placing.py": placing.format(device="cpu") + "# and more\n"})
    assert tree.lint("b.py") == []
    assert tree.lint("a.py") == []


def test_a_class_of_the_linted_file_is_not_shared(tree: Tree, runs: list[str]) -> None:
    tree.write({"building.py": "def build(cls):\n    return cls()\n"})
    use = """
        import torch
        from building import build

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.zeros(2, device={device!r})

        net = build(Net)
        y = net.table + torch.ones(2, device="cuda:1")
    """
    tree.write({"a.py": use.format(device="cuda:0"), "b.py": use.format(device="cuda:1")})
    assert "DEV202:11" in tree.lint("a.py")
    assert "DEV202:11" not in tree.lint("b.py")
    assert runs.count("build") == 2


def test_what_a_shared_function_writes_is_known_in_each_file(tree: Tree, runs: list[str]) -> None:
    tree.write({"patching.py": "def patch(thing):\n    thing.rows = None\n    return thing\n"})
    use = """
        import torch
        from patching import patch

        class Keeper:
            def __init__(self):
                self.rows = torch.zeros(3)

        def add(keeper: Keeper, x):
            return keeper.rows + x.cuda()

        kept = {made}
    """
    tree.write({f"{name}.py": use.format(made="patch([])") for name in "ab"})
    tree.write({"alone.py": use.format(made="[]")})
    found = {name: "DEV202:10" in tree.lint(f"{name}.py") for name in ("a", "b", "alone")}
    assert found == {"a": False, "b": False, "alone": True}
    assert runs.count("patch") == 1


def test_what_is_shared_hangs_on_no_call_that_came_before(tree: Tree) -> None:
    """A run that stands for all strings knows less than one with a string of its own."""
    helpers = """
        import torch

        def pick(tensors, name):
            if name == "zero":
                return torch.zeros(3)
            return unseen(tensors)

        def several(tensors):
            return [pick(tensors, "a"), pick(tensors, "b"), pick(tensors, "c")]

        def first(tensors):
            return pick(tensors, "zero")
    """
    use = (
        "import torch\nfrom helpers import first, several\n{}y = first(v) + torch.ones(3).cuda()\n"
    )
    tree.write({"helpers.py": helpers, "a.py": use.format("several(v)\n"), "b.py": use.format("")})
    tree.lint("a.py")
    assert "DEV202:3" in tree.lint("b.py")


LACKING = """
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.width, self.fc = width, nn.Linear(3, 3)
            {made}

        def forward(self, x):
            y = torch.full_like(x, self.{attr})
            return self.fc(x) + torch.ones(3) + y
"""


@pytest.mark.parametrize("attr", ["hidden_size", "depth"])
def test_nothing_is_behind_an_attribute_that_nothing_binds(tree: Tree, attr: str) -> None:
    tree.write({"net.py": LACKING.format(made="pass", attr=attr)})
    assert tree.lint("net.py") == []


@pytest.mark.parametrize(
    ("made", "attr"),
    [
        ("pass", "width"),
        ("pass", "training"),
        ("pass", "_version"),
        ("self.hidden_size = width", "hidden_size"),
        ("pass\n\n        class Sizes: pass", "Sizes"),
        ("pass\n\n        if torch:\n            def sized(self): pass", "sized"),
        ("self.register_buffer('hidden_size', torch.ones(3))", "hidden_size"),
        ("for name in 'ab': self.register_buffer(f'size_{name}', torch.ones(3))", "size_a"),
        ("setattr(self, str(width), 3)", "hidden_size"),
        ("self.__dict__.update(width)", "hidden_size"),
        ("keep(locals())", "hidden_size"),
    ],
)
def test_an_attribute_that_something_may_bind_raises_nothing(
    tree: Tree, made: str, attr: str
) -> None:
    tree.write({"net.py": LACKING.format(made=made, attr=attr)})
    assert [each.partition(":")[0] for each in tree.lint("net.py")] == ["DEV203"]


@pytest.mark.parametrize(
    "other",
    [
        "def widen(encoder): encoder.hidden_size = 3",
        "from net import Encoder\nclass Wide(Encoder):\n    hidden_size = 3",
        "import net\nclass Wide(net.Encoder):\n    pass",
    ],
)
def test_an_attribute_that_another_file_may_bind_raises_nothing(tree: Tree, other: str) -> None:
    files = {"net.py": LACKING.format(made="pass", attr="hidden_size"), "other.py": other}
    tree.write(files)
    assert tree.lint("net.py") == ["DEV203:13"]


def test_the_last_of_several_methods_of_one_name_counts(tree: Tree) -> None:
    source = """
        from typing import overload
        import torch
        from torch import nn

        class Encoder(nn.Module):
            @overload
            def __init__(self, width: int): ...

            @overload
            def __init__(self, width: str): ...

            def __init__(self, width):
                super().__init__()
                self.fc, self.scale = nn.Linear(3, 3), torch.ones(3)

            def forward(self, x):
                return self.fc(x) * self.scale
    """
    tree.write({"net.py": source})
    assert tree.lint("net.py") == ["DEV401:15"]


@pytest.mark.parametrize(
    ("setter", "found"),
    [
        ("rollout/utils.py", []),
        ("rollout/models/helpers.py", []),
        ("scripts/utils.py", ["DEV203:7"]),
        ("rollout/engines/utils.py", ["DEV203:7"]),
        ("rollout/comments.py", ["DEV203:7"]),
    ],
)
def test_a_module_of_its_package_says_where_a_file_makes_tensors(
    tree: Tree, setter: str, found: list[str]
) -> None:
    folders = ("rollout", "rollout/models", "rollout/engines", "scripts")
    tree.write({f"{folder}/__init__.py": "" for folder in folders})
    net = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return x.relu() + torch.ones(3)
    """
    tree.write({"rollout/models/net.py": net})
    assert tree.lint("rollout/models/net.py") == ["DEV203:7"]
    uses = """
        import torch

        def use_cuda(enabled):
            if enabled:
                torch.set_default_tensor_type("torch.cuda.FloatTensor")
    """
    if "comments" in setter:
        uses = uses.replace("torch.set", "pass  # torch.set")
    tree.write({setter: uses})
    assert tree.lint("rollout/models/net.py") == found


@pytest.mark.parametrize(
    ("program", "is_there"),
    [
        ("torch.set_default_tensor_type('torch.cuda.FloatTensor')", False),
        ("torch.set_default_device('cuda')", True),
    ],
)
def test_the_type_of_tensors_says_where_the_old_constructor_makes_them(
    tree: Tree, program: str, is_there: bool
) -> None:
    net = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                return x.relu() + torch.Tensor([1.0, 2.0])
    """
    tree.write({"layers/net.py": net})
    tree.write({"train.py": f"import torch\nfrom layers.net import Net\n\n{program}\n"})
    assert tree.lint("layers/net.py") == (["DEV203:7"] if is_there else [])


EXPORT = """
    import torch
    from torch import nn

    {flag} = False

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.scaled = nn.Linear(3, 3), False

        def forward(self, x):
            x = self.fc(x)
            if {test}:
                x = x + torch.ones(3)
            return x
"""


@pytest.mark.parametrize(
    ("flag", "test", "other", "is_told"),
    [
        ("EXPORT", "EXPORT", "", False),
        ("EXPORT", "not EXPORT", "", True),
        ("EXPORT", "EXPORT", "import net\nnet.EXPORT = True", True),
        ("USE_GPU", "USE_GPU", "", True),
        ("EXPORT", "self.scaled", "", False),
        ("EXPORT", "self.scaled", "def scale(net): net.scaled = True", True),
        ("EXPORT", "self.scaled", "import net\nclass Scaled(net.Net): pass", True),
    ],
)
def test_a_flag_that_nothing_sets_anew(
    tree: Tree, flag: str, test: str, other: str, is_told: bool
) -> None:
    tree.write({"net.py": EXPORT.format(flag=flag, test=test), "other.py": other})
    assert tree.lint("net.py") == (["DEV203:15"] if is_told else [])


OF_MODELS = """
    class Registry:
        def __init__(self):
            self._made = {}

        def register(self, name):
            def keep(made):
                self._made[name] = made
                return made
            return keep

        def get(self, name):
            return self._made[name]

    MODELS = Registry()

    def build_model(name):
        return MODELS.get(name)()
"""
MODEL = """
    from torch import nn
    from registry import MODELS

    {decorator}
    class {name}(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x):
            return self.fc(x)
    {after}
"""
TRAINING = """
    import torch
    from registry import build_model

    def train(name, rows, device):
        model = build_model(name)
        for x in rows:
            model(x.to(device))
"""


def a_model(name: str, decorator: str = "", after: str = "") -> str:
    return MODEL.format(name=name, decorator=decorator, after=after)


@pytest.mark.parametrize(
    "models",
    [
        {"small.py": a_model("Small", '@MODELS.register("small")')},
        {"small.py": a_model("Small", after='MODELS.register("small")(Small)')},
        {
            "small.py": a_model("Small", '@MODELS.register("small")'),
            "large.py": a_model("Large", '@MODELS.register("large")'),
        },
    ],
)
def test_a_registry_holds_what_other_files_put_there(tree: Tree, models: dict[str, str]) -> None:
    tree.write({"registry.py": OF_MODELS, "main.py": TRAINING, **models})
    assert tree.lint("main.py") == ["DEV208:8"]
    assert {"registry.py", *models} <= tree.consulted("main.py")


def test_a_registry_by_functions_and_keys_of_several_parts(tree: Tree) -> None:
    registry = """
        _KNOWN = {}

        def register(group, name):
            def keep(made):
                key = (group, name)
                if key in _KNOWN:
                    raise KeyError(key)
                _KNOWN[key] = made
                return made
            return keep

        def build(group, name):
            return _KNOWN[(group, name)]()
    """
    model = a_model("Small", '@register("model", "small")')
    training = TRAINING.replace("build_model(name)", 'build("model", name)')
    tree.write({
        "registry.py": registry,
        "small.py": model.replace("import MODELS", "import register"),
        "main.py": training.replace("import build_model", "import build"),
    })  # fmt: skip
    assert tree.lint("main.py") == ["DEV208:8"]


def test_a_registry_in_a_package_that_others_import_it_from(tree: Tree) -> None:
    model = a_model("Small", '@MODELS.register("small")')
    tree.write({
        "zoo/__init__.py": "from .registry import MODELS, build_model",
        "zoo/registry.py": OF_MODELS,
        "small.py": model.replace("from registry", "from zoo"),
        "main.py": TRAINING.replace("from registry", "from zoo"),
    })  # fmt: skip
    assert tree.lint("main.py") == ["DEV208:8"]


def test_what_is_moved_where_a_registry_makes_it(tree: Tree) -> None:
    registry = OF_MODELS.replace("def build_model(name):", "def build_model(name, device):")
    tree.write({
        "registry.py": registry.replace("get(name)()", "get(name)().to(device)"),
        "small.py": a_model("Small", '@MODELS.register("small")'),
        "main.py": TRAINING.replace("build_model(name)", "build_model(name, device)"),
    })  # fmt: skip
    assert tree.lint("main.py") == []


def test_a_registry_that_nobody_fills(tree: Tree) -> None:
    tree.write({"registry.py": OF_MODELS, "main.py": TRAINING, "small.py": a_model("Small")})
    assert tree.lint("main.py") == []


def test_a_registry_hangs_on_the_files_that_fill_it(tree: Tree) -> None:
    """Whichever file is linted first, and whatever was changed in between."""
    files = {
        "registry.py": OF_MODELS,
        "small.py": a_model("Small", '@MODELS.register("small")'),
        "main.py": TRAINING,
        "other.py": TRAINING,
    }
    tree.write(files)
    names = ["small.py", "registry.py", "main.py", "other.py"]

    def told() -> list[str]:
        return [code for name in names for code in tree.lint(name)]

    assert told() == ["DEV208:8", "DEV208:8"]
    names.reverse()
    assert told() == ["DEV208:8", "DEV208:8"]
    tree.write({"small.py": a_model("Small")})
    assert told() == []
    tree.write({"small.py": a_model("Small", '@MODELS.register("small")')})
    assert told() == ["DEV208:8", "DEV208:8"]


def test_one_of_many_that_a_registry_holds(tree: Tree) -> None:
    models = {
        f"model{n}.py": a_model(f"Model{n}", f'@MODELS.register("model{n}")') for n in range(6)
    }
    tree.write({"registry.py": OF_MODELS, "main.py": TRAINING, **models})
    assert tree.lint("main.py") == ["DEV208:8"]


def test_what_fills_a_registry_counts_for_each_linted_file(tree: Tree) -> None:
    """So the number of steps is the same in whichever order files are linted."""
    base = "from torch import nn\nclass Base(nn.Module): pass\n"
    model = a_model("Small", '@MODELS.register("small")').replace("(nn.Module)", "(Base)")
    model = model.replace("from registry", "from base import Base\n    from registry")
    tree.write({"base.py": base, "small.py": model, "registry.py": OF_MODELS})
    tree.write({"main.py": TRAINING, "other.py": TRAINING})
    project = prepare(FOLLOWING).project
    assert project is not None
    taken = []
    for name in ("main.py", "other.py"):
        tree.lint(name)
        taken.append(project.steps.taken)
    assert taken[0] == taken[1] > 0


def test_a_class_that_a_condition_imports(tree: Tree) -> None:
    net = """from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
    def forward(self, x):
        return self.layer(x)
"""
    main = """def run(size, x):
    if size == 1:
        from small import Net
    elif size == 2:
        from large import Net
    net = Net()
    return net(x.cuda())
"""
    tree.write({"small.py": net, "large.py": net, "main.py": main})
    assert tree.lint("main.py") == ["DEV208:6", "DEV101:7"]
    tree.write({"main.py": main.replace("Net()", "Net().cuda()")})
    assert tree.lint("main.py") == ["DEV101:6", "DEV101:7"]


def test_a_flag_of_an_object_in_what_a_long_function_gives(tree: Tree) -> None:
    lines = "\n".join(
        f"        ids{n} = self.rows[{n} * self.size : {n + 1} * self.size]" for n in range(20)
    )
    rows = f"""import torch
class Rows:
    def __init__(self, rows, cuda=True, size=64):
        self.rows, self.cuda, self.size = rows, cuda, size
    def __iter__(self):
        return self
    def __next__(self):
        return self.next()
    def next(self):
{lines}
        batch = torch.tensor(ids1)
        mask = torch.tensor(ids2)
        if self.cuda:
            batch = batch.cuda()
            mask = mask.cuda()
        return batch, mask
"""
    main = """import torch
from rows import Rows
def run(model, rows):
    for batch, mask in rows:
        print(model(batch))
if __name__ == "__main__":
    run(torch.nn.Linear(3, 3).cuda(), Rows([]))
"""
    tree.write({"rows.py": rows, "main.py": main})
    assert tree.lint("main.py") == ["DEV101:7"]
    tree.write({"main.py": main.replace("Rows([])", "Rows([], cuda=False)")})
    assert tree.lint("main.py") == ["DEV201:5", "DEV101:7"]


def test_a_flag_that_a_program_leaves_at_its_default(tree: Tree) -> None:
    main = """import torch
def run(n, cuda=True):
    z = torch.ones(n, 2)
    if cuda:
        z = z.cuda()
    return z * torch.ones(n, 2).cuda()
def both():
    return [run(n) for n in (1, 2)]
if __name__ == "__main__":
    both()
"""
    tree.write({"main.py": main, "other.py": "import torch\nfrom helpers import run\n"})
    assert tree.lint("main.py") == ["DEV101:5", "DEV101:6"]
    tree.write({"main.py": main, "other.py": "import torch\nfrom main import run\n"})
    assert tree.lint("main.py") == ["DEV101:6", "DEV109:6"]


def test_a_parameter_that_another_function_takes_from_the_file(tree: Tree) -> None:
    util = """import torch
def shifted(x, CUDA=True):
    shift = torch.arange(3).float()
    if CUDA:
        shift = shift.cuda()
    x[:, :3] += shift
    return x
"""
    net = """import torch
from util import shifted
class Layer(torch.nn.Module):
    def forward(self, x):
        {taken}
        return shifted(x, CUDA)
class Net(torch.nn.Module):
    def forward(self, x, CUDA):
        return shifted(x.data, CUDA)
"""
    main = """import torch
from net import Net
def inputs(image, CUDA):
    image = torch.from_numpy(image)
    if CUDA:
        image = image.cuda()
    return image
if __name__ == "__main__":
    CUDA = torch.cuda.is_available()
    net = Net()
    if CUDA:
        net.cuda()
    net(inputs(3, CUDA), CUDA)
"""
    tree.write({"util.py": util, "net.py": net.format(taken="global CUDA"), "main.py": main})
    assert tree.lint("main.py") == []
    wrong = main.replace("net(inputs(3, CUDA), CUDA)", "net(inputs(3, CUDA), False)")
    tree.write({"main.py": wrong})
    assert [code for code in tree.lint("main.py") if "DEV2" in code] == ["DEV202:13"]


def test_what_is_read_from_a_file_beside_a_device_of_the_options(tree: Tree) -> None:
    """`args.device` is no place where an argument of the calling function is."""
    index = """
        from dataclasses import dataclass, replace

        import torch

        @dataclass(frozen=True)
        class Index:
            rows: torch.Tensor

            @classmethod
            def load(cls, path):
                return cls(torch.load(path, map_location="cpu")["rows"].float())

            def to(self, device):
                return replace(self, rows=self.rows.to(device))

            def search(self, queries):
                return queries @ self.rows.T

        class Finder:
            def __init__(self, index):
                self.index = index

            def to(self, device):
                self.index.to(device)
                return self
    """
    main = """
        import argparse
        import torch
        from index import Finder, Index

        def main(path):
            args = argparse.ArgumentParser().parse_args()
            finder = Finder(Index.load(path)).to(args.device)
            return finder.index.search(torch.ones(3, 3, device=args.device))

        def search(path, x):
            return Index.load(path).search(x.to(x.device))
    """
    tree.write({"index.py": index, "main.py": main})
    assert tree.lint("main.py") == ["DEV202:9"]
    tree.write({"index.py": index.replace("self.index.to", "self.index = self.index.to")})
    assert tree.lint("main.py") == []


def test_what_an_object_moves_where_it_has_another_device(tree: Tree) -> None:
    bank = """
        import torch

        class Bank:
            def __init__(self):
                self.times = torch.arange(8)
                self._device = None

            def _to(self, device):
                if self._device == device:
                    return
                self.times = self.times.to(device)
                self._device = device

            def late(self, rows):
                past = rows["past"]
                self._to(past.device)
                return (self.times > 3) & (past.sum(-1) > 0)
    """
    main = """
        from bank import Bank

        def main(loader, device):
            bank = Bank()
            for rows in loader:
                bank.late({k: v.to(device) for k, v in rows.items()})
    """
    tree.write({"bank.py": bank, "main.py": main})
    assert tree.lint("main.py") == []
    tree.write({"bank.py": bank.replace("self._device == device", "self.is_small")})
    assert tree.lint("main.py") == ["DEV202:7"]


def test_a_registry_of_another_file_that_is_filled_here(tree: Tree) -> None:
    registry = """
        class Registry(dict):
            def register(self, name):
                def add(cls):
                    if name in self:
                        raise KeyError(name)
                    self[name] = cls
                    return cls

                return add

            def build(self, options):
                given = dict(options)
                return self[given.pop("name")](**given)

        LOSSES = Registry()
    """
    losses = """
        import torch
        from torch import nn
        from registry import LOSSES

        @LOSSES.register("dice")
        class Dice(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("weight", torch.ones(3))

            def forward(self, x):
                return x * self.weight

        @LOSSES.register("focal")
        class Focal(nn.Module):
            def forward(self, x):
                return x.mean()

        class Combined(nn.Module):
            def __init__(self, rows):
                super().__init__()
                self.terms = [LOSSES.build(row) for row in rows]

            def forward(self, x):
                return sum(term(x) for term in self.terms)
    """
    tree.write({"registry.py": registry, "losses.py": losses})
    assert tree.lint("losses.py") == ["DEV402:23"]
    listed = losses.replace("[LOSSES", "nn.ModuleList([LOSSES").replace("rows]", "rows])")
    tree.write({"losses.py": listed})
    assert tree.lint("losses.py") == []
