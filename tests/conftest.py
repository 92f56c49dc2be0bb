"""What all tests share: one thread each, failures that explain themselves, no setting leaks in."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# Tests run side by side, on small tensors: to share those out among threads, which then wait for
# each other busily, takes twice the processor's time. Said before torch is imported, and inherited.
os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest.register_assert_rewrite("literate")

# The same examples in every run, so that a change is judged by what it changed; and no limit to
# the time of one, for machines that are busy. `--hypothesis-profile=default` looks for new ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

_LEAKING = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in os.environ:
        if name.startswith("DEVLINT_") or name in _LEAKING:
            monkeypatch.delenv(name)
    # What devlint remembers is this test's own, wherever the platform keeps a user's caches.
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(home))
