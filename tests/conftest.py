"""What all tests share: failures of the literate tests explain themselves, no setting leaks in."""

from __future__ import annotations

import os

import pytest

pytest.register_assert_rewrite("literate")

_LEAKING = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("DEVLINT_") or name in _LEAKING:
            monkeypatch.delenv(name)
