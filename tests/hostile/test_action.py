"""The GitHub Action runs in the checkout of a stranger, and imports nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import shipped

MODULES = {
    *sys.stdlib_module_names, "devlint", "hatch_vcs", "hatchling", "libcst", "packaging",
    "pathspec", "pip", "pluggy", "rich", "setuptools", "setuptools_scm", "sitecustomize", "tomli",
    "typing_extensions", "usercustomize", "vcs_versioning", "yaml",
}  # fmt: skip


def test_nothing_of_the_checkout_is_imported(tmp_path: Path) -> None:
    checkout, marker = tmp_path / "checkout", tmp_path / "imported"
    checkout.mkdir()
    shadow = f"with open({str(marker)!r}, 'a') as file:\n    file.write(__name__ + '\\n')\n"
    for name in MODULES:
        (checkout / f"{name}.py").write_text(shadow)
    for name in ("bad.py", "worse.py"):
        (checkout / name).write_text("import torch\n\nx = torch.load('x.pt')\n")
    subprocess.run([sys.executable, "-c", "import json"], cwd=checkout, capture_output=True)
    marker.unlink()  # so easily it happens where Python isn't isolated
    paths = {"PYTHONPATH": str(checkout), "RUNNER_TEMP": str(tmp_path / "temporary")}
    action = shipped.copy(tmp_path / "action")
    inputs = {"INPUT_SRC": "bad.py worse.py", "INPUT_ARGS": "--no-cache --jobs 2"}
    done = subprocess.run(
        ["bash", str(action / ".ci" / "action.sh")],
        cwd=checkout,
        env=os.environ | {"ACTION": str(action), "PYTHON": sys.executable} | paths | inputs,
        capture_output=True,
        text=True,
    )
    assert not marker.exists(), marker.read_text()
    assert done.returncode == 1, done.stderr
    assert "file=bad.py,line=3" in done.stdout
    assert "file=worse.py,line=3" in done.stdout
