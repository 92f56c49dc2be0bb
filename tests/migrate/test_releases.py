"""Which release of PyTorch a project says it is written for."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
from packaging.version import Version

from devlint.migrate import releases
from devlint.migrate.choice import Choice


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    known: dict[str, str] = {}

    def version(name: str) -> str:
        if name not in known:
            raise metadata.PackageNotFoundError(name)
        return known[name]

    monkeypatch.setattr(releases.metadata, "version", version)
    return known


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("requirements.txt", "numpy\ntorch>=2.7  # new\n", "2.7"),
        ("requirements-dev.txt", "torch~=1.13.1\n", "1.13.1"),
        ("requirements.txt", "torchvision==0.8\ntorch\n", None),
        ("pyproject.toml", '[project]\nname = "a"\ndependencies = ["torch>=1.9,<3"]\n', "1.9"),
        ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    torch>=2.0\n", "2.0"),
        ("setup.py", 'from x import setup\nsetup(install_requires=["torch==1.4.0"])\n', "1.4.0"),
        ("environment.yml", "dependencies:\n  - pytorch=1.12\n  - python=3.9\n", "1.12"),
        ("environment.yml", "dependencies:\n  - pip:\n    - torch>=2.8\n", "2.8"),
        ("pyproject.toml", "[project\n", None),
        ("setup.py", "def (\n", None),
        ("notes.txt", "torch>=2.7\n", None),
    ],
)
def test_what_the_files_of_a_project_say(
    name: str, text: str, expected: str | None, tmp_path: Path, installed: dict[str, str]
) -> None:
    (tmp_path / name).write_text(text)
    found = releases.oldest_torch(str(tmp_path))
    assert found == (None if expected is None else Version(expected))


def test_what_is_installed_counts_where_nothing_is_said_or_a_pin_is_left_behind(
    tmp_path: Path, installed: dict[str, str]
) -> None:
    installed["torch"] = "2.13.0+cpu"
    assert releases.oldest_torch(str(tmp_path)) == Version("2.13.0+cpu")
    (tmp_path / "requirements.txt").write_text("torch==1.7.1\n")
    assert releases.oldest_torch(str(tmp_path)) == Version("2.13.0+cpu")
    (tmp_path / "requirements.txt").write_text("torch>=1.7.1\n")
    assert releases.oldest_torch(str(tmp_path)) == Version("1.7.1")
    assert releases.oldest_torch(str(tmp_path / "missing")) == Version("2.13.0+cpu")


@pytest.mark.parametrize("oldest", ["1.7", "1.13", "2.6", "2.7", "2.13", None])
def test_a_choice_is_one_expression_in_every_release(oldest: str | None) -> None:
    choice = Choice(None if oldest is None else Version(oldest))
    for text in (choice.device, choice.string, choice.available):
        compile(text, "choice", "eval")
    assert ("accelerator" in choice.device) is (oldest in ("2.7", "2.13"))
    assert ("hasattr" in choice.device) is (oldest == "1.7")
