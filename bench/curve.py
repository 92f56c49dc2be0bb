"""The calibration curve as a picture: what findings score, and what share of them is true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from precision import wilson

_SETTINGS = {
    "svg.hashsalt": "devlint",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
}
_METADATA = {"Date": None, "Creator": None}
_PAPER, _INK, _PALE, _COLOUR = "#ffffff", "#24292f", "#8c959f", "#0072B2"
"""The paper is part of the picture, which is read on dark pages as on light ones."""


@dataclass(frozen=True)
class Band:
    """Findings that score alike."""

    low: int
    high: int
    score: float
    """What they score in the mean, of a hundred."""
    true: int
    findings: int


def draw(trials: Mapping[str, Sequence[Band]], threshold: int, path: Path) -> None:
    """Draw a panel for each trial, by its title, as SVG: the bars are 95 % Wilson intervals.

    The file is the same whenever the bands are.

    Raises SystemExit where matplotlib isn't installed.
    """
    try:
        import matplotlib as mpl
        import matplotlib.style
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise SystemExit("--draw needs matplotlib: pip install matplotlib") from error
    with matplotlib.style.context("default"), mpl.rc_context(_SETTINGS):
        size = (4.4 * len(trials), 4.2)
        figure = Figure(figsize=size, layout="constrained", facecolor=_PAPER)
        panels = figure.subplots(1, len(trials), sharey=True, squeeze=False)[0]
        for panel, (title, bands) in zip(panels, trials.items(), strict=True):
            _draw_panel(panel, bands, threshold)
            panel.set_title(title, fontsize=11, color=_INK)
        panels[0].set_ylabel("true findings, of a hundred", color=_INK)
        figure.supxlabel("what they score", fontsize=10, color=_INK)
        figure.savefig(path, format="svg", metadata=_METADATA)


def _draw_panel(panel: Any, bands: Sequence[Band], threshold: int) -> None:
    panel.plot([0, 100], [0, 100], color=_PALE, linewidth=1, linestyle="--")
    panel.axvline(threshold, color=_PALE, linewidth=1, linestyle=":")
    kept_back = f"below {threshold}:\nkept back"
    panel.text(threshold - 1, 102, kept_back, ha="right", va="top", color=_INK, size=8)
    for each in bands:
        least, most = wilson(each.true, each.findings)
        panel.plot([each.score] * 2, [100 * least, 100 * most], color=_COLOUR, linewidth=1.5)
        count = f"{each.true}/{each.findings}"
        panel.text(each.score, 100 * least - 1, count, ha="center", va="top", color=_INK, size=8)
    shares = [100 * each.true / each.findings for each in bands]
    panel.plot([each.score for each in bands], shares, "o-", color=_COLOUR, linewidth=1)
    panel.set(xlim=(20, 100), ylim=(-4, 104))
    panel.tick_params(colors=_INK)
    panel.spines[["top", "right"]].set_visible(False)
    panel.spines[["bottom", "left"]].set_color(_INK)
