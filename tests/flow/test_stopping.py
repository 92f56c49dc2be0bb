"""Work that is stopped before its end leaves nothing half found out behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from devlint.config.configuration import Configuration
from devlint.flow.frames.steps import StoppedError, stoppable
from devlint.lint import check

LONG = "import torch\nfrom made import made\n\n" + "x = made().numpy()\n" * 3000


def test_a_stopped_run_is_as_if_it_had_not_been(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "made.py").write_text(
        "import torch\n\n\ndef made():\n    return torch.ones(3, device='cuda')\n"
    )
    path, settings = str(tmp_path / "a.py"), Configuration().for_folder(str(tmp_path))
    usual = check(LONG.encode(), path, settings)
    assert {each.code for each in usual.findings} == {"DEV205"}
    asked = 0

    def later() -> bool:
        nonlocal asked
        asked += 1
        return asked == 3

    with stoppable(later), pytest.raises(StoppedError):
        check(LONG.encode(), path, settings)
    assert asked == 3
    assert check(LONG.encode(), path, settings) == usual
