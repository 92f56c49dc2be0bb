"""How much of a file is decided."""

from __future__ import annotations

from devlint.config.settings import Settings
from devlint.lint import check
from devlint.model.findings import Coverage


def coverage(text: str) -> Coverage:
    return check(text.encode(), "a.py", Settings()).coverage


def test_a_meeting_of_which_all_is_known_is_decided() -> None:
    text = (
        "import torch\nimport mylib\n\n"
        "def run(args, device):\n"
        "    x = torch.ones(3, device=device)\n"
        "    y = torch.add(x, torch.ones(3, device=device))\n"
        "    z = torch.add(y, args.weights[0])\n"
        "    noise = mylib.noise(3)\n"
        "    print(torch.add(x, noise), x + noise[0], torch.add(x, 1.0))\n"
        "    return torch.add(z, mylib.noise(3))\n"
    )
    found = coverage(text)
    assert found.decided == 1
    assert found.meetings == 5
    assert found.unknown == (("`noise`", 2), ("`args`", 1), ("calls of `mylib`", 1))


def test_what_a_call_decides_is_decided() -> None:
    text = "import torch\n\ndef shift(x, y):\n    return torch.add(x, y)\n"
    assert coverage(text) == Coverage.of(0, {"`y`": 1})
    called = f"{text}\nshift(torch.ones(3, 3), torch.ones(3, 3))\n"
    assert coverage(called) == Coverage.of(1, {})


def test_nothing_meets_where_nothing_is_known_of_torch() -> None:
    assert coverage("x = 1 + 2\n") == Coverage()


def test_a_tensor_meets_no_size() -> None:
    for sizes in ("x.shape", "x.size()"):
        text = (
            f"import torch\nx = torch.ones(2, 3)\nn, c = {sizes}\nprint(x / n, torch.add(x, c))\n"
        )
        assert coverage(text) == Coverage()


def test_what_a_call_leaves_open_has_its_name() -> None:
    text = (
        "import torch\n\n"
        "def step(x, scale=1.0, bias=0.0):\n    return torch.add(torch.ones(3), scale)\n\n"
        "def run(options):\n    return step(**options)\n"
    )
    assert coverage(text) == Coverage.of(0, {"`scale`": 1})
