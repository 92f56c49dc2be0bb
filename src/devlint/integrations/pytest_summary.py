"""What the pytest plugin tells at the end: what was collected, and what isn't emulated.

These are hooks of the plugin, which has them among its own.
"""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import pytest

EMULATION: pytest.StashKey[Any] = pytest.StashKey()
"""The emulation that the tests run on."""
_OF_WORKERS: pytest.StashKey[Counter[str]] = pytest.StashKey()
"""What the processes of pytest-xdist have met that isn't emulated."""
_COLLECTED: pytest.StashKey[Any] = pytest.StashKey()
"""What guards and ported tests have met."""

_OUTPUT = "devlint_limits"
"""What a process of pytest-xdist calls it in its output."""
_COLLECTED_OUTPUT = "devlint_collected"

FORMATS = ("text", "json", "sarif", "junit")


def collection_of(config: pytest.Config) -> Any:
    """What the guards of this process, and of those of pytest-xdist, have collected."""
    if _COLLECTED not in config.stash:
        config.stash[_COLLECTED] = importlib.import_module("devlint.runtime.collected").Collection()
    return config.stash[_COLLECTED]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a process of pytest-xdist, send what there is to tell to the one that reports.

    There, what guards have collected makes a session fail that has gone well otherwise.
    """
    stash = session.config.stash
    emulation, collected = stash.get(EMULATION, None), stash.get(_COLLECTED, None)
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is None:
        is_met = any(mismatch.outcome != "failed" for mismatch, _ in collected or ())
        if is_met and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        write_collected(session.config)
        return
    if emulation is not None:
        output[_OUTPUT] = emulation.limits
    if collected:
        output[_COLLECTED_OUTPUT] = collected.records()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive it; a process that has crashed has sent nothing."""
    output = getattr(node, "workeroutput", {})
    node.config.stash.setdefault(_OF_WORKERS, Counter()).update(output.get(_OUTPUT, {}))
    if _COLLECTED_OUTPUT in output:
        collection_of(node.config).add_records(output[_COLLECTED_OUTPUT])


def write_collected(config: pytest.Config) -> None:
    """Write what was collected to the file that is asked for, if one is.

    A process of pytest-xdist leaves that to the one that reports.
    """
    name = config.getoption("devlint_output_file")
    if name is None or hasattr(config, "workerinput"):
        return
    overwrite = importlib.import_module("devlint.safety.writing").overwrite
    rendered = importlib.import_module("devlint.runtime.collected_report").rendered
    text = rendered(
        config.getoption("devlint_output_format"), collection_of(config), config.rootpath
    )
    try:
        overwrite(str(config.invocation_params.dir / name), text.encode())
    except OSError as error:
        pytest.exit(f"--devlint-output-file: {error}", returncode=pytest.ExitCode.USAGE_ERROR)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say at the end what was collected, and what the tests have used that isn't emulated."""
    collected = config.stash.get(_COLLECTED, None)
    if collected:
        terminalreporter.section("device mistakes (devlint)")
        for line in collected.text().splitlines():
            terminalreporter.line(line)
    emulation = config.stash.get(EMULATION, None)
    if emulation is None:
        return
    limits = Counter(emulation.limits) + config.stash.get(_OF_WORKERS, Counter())
    if limits:
        in_words = importlib.import_module("devlint.runtime.program").in_words
        terminalreporter.section("not emulated (devlint)")
        for text, count in limits.items():
            terminalreporter.line(in_words(text, count))
