"""What all tests share: one thread each, failures that explain themselves, no setting leaks in."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Tests run side by side, on small tensors: to share those out among threads, which then wait for
# each other busily, takes twice the processor's time. Said before torch is imported, and inherited.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What tests import and collect is kept to the end: to look through it for garbage, again and again,
# takes a tenth of their time.
gc.set_threshold(200_000, 50, 100)

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


@pytest.fixture(autouse=True)
def failed_explanations() -> Iterator[list[logging.LogRecord]]:
    """Explanations that have failed, of which users aren't told; here a test fails by them."""
    logger, failures = logging.getLogger("devlint"), list[logging.LogRecord]()
    handler = logging.Handler(logging.DEBUG)
    handler.emit = failures.append  # type: ignore[method-assign]
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    yield failures
    logger.setLevel(level)
    logger.removeHandler(handler)
    for record in failures:
        if record.exc_info is not None and record.exc_info[1] is not None:
            raise record.exc_info[1]
