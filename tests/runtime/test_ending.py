"""What an installed guard prints when the program ends: once, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from warm import Warm

NOTHING = "No copies between devices, and no waiting for one.\n"

BEGIN = "import os, sys, devlint\ninstalled = devlint.install_guard('trace')\n"

Ended = Callable[..., tuple[str, str]]


@pytest.fixture
def ended(warm: Warm, tmp_path: Path) -> Ended:
    """What a program that is traced has written, to standard output and to standard error."""

    def run(code: str, **variables: str) -> tuple[str, str]:
        ran = warm.run(tmp_path, BEGIN + code, **variables)
        assert ran.code == 0
        return ran.out, ran.err

    return run


def test_the_table_goes_to_standard_error(ended: Ended) -> None:
    assert ended("") == ("", NOTHING)


def test_one_of_several_ranks_says_which_it_is(ended: Ended) -> None:
    said = ended("", RANK="1", WORLD_SIZE="2", LOCAL_RANK="1")
    assert said == ("", f"devlint: rank 1 of 2, local rank 1:\n{NOTHING}")


def test_nothing_after_it_was_removed(ended: Ended) -> None:
    assert ended("installed.remove()") == ("", "")


@pytest.mark.parametrize("change", ["sys.stderr = None", "sys.stderr.close()"])
def test_nothing_where_there_is_no_standard_error(ended: Ended, change: str) -> None:
    assert ended(change) == ("", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_says_nothing(ended: Ended) -> None:
    code = "child = os.fork()\nif not child:\n    sys.exit()\nos.waitpid(child, 0)\n"
    assert ended(code) == ("", NOTHING)
