"""How all plots look, whatever the user's own matplotlib settings are."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from emulator.files import write_data

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1d2329"
MUTED = "#5c6771"
RULE = "#d5dadf"
SURFACE = "#fefefe"
SERIES = ("#2f6fb0", "#d9771e", "#2f8f6b", "#b3468c", "#8a6d1f", "#6a5acd", "#c23b3b", "#3b8ea5")
"""Told apart by most kinds of colour vision, and dark enough for thin lines."""
PALE = ("#a9c7e6", "#f3c391")
"""Paler companions of the first two."""
DASHES = ("-", "--", "-.", ":")
"""Line styles for further series once the colours are used up."""

_OPTIONS: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 9,
    "axes.titlecolor": INK,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": RULE,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "axes.facecolor": SURFACE,
    "figure.facecolor": SURFACE,
    "savefig.facecolor": SURFACE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    # Names from traces are text; "$" in them is no formula.
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "svg.hashsalt": "slurm-sim",
    "svg.fonttype": "path",
    "timezone": "UTC",
    "path.simplify": True,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw with these settings, and leave the user's own as they were."""
    import matplotlib

    kept = ("backend", "backend_fallback", "toolbar", "interactive", "date.epoch")
    settings: dict[Any, Any] = {name: value for name, value in matplotlib.rcParamsDefault.items() if name not in kept}
    with warnings.catch_warnings(), matplotlib.rc_context():
        # A name may hold letters that the font has not; they become boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", category=matplotlib.MatplotlibDeprecationWarning)
        matplotlib.rcParams.update(settings | _OPTIONS)
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure of so many inches that needs no screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def say(axes: Axes, text: str) -> None:
    """Write in the middle of axes that have nothing to show."""
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=MUTED)


def write_picture(figure: Figure, path: Path) -> None:
    """Write a picture, as SVG or PNG by the ending.

    Raises:
        OutputError: it cannot be written.
    """
    write_data(path, picture_bytes(figure, "svg" if path.suffix == ".svg" else "png"))


def picture_bytes(figure: Figure, kind: Literal["svg", "png"] = "svg", *, transparent: bool = False) -> bytes:
    """The picture as a file; the same figure gives the same bytes.

    Args:
        figure: what to draw.
        kind: ``svg`` (text as paths) or ``png`` (150 dots an inch).
        transparent: leave out the background.
    """
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None} if kind == "svg" else {"Software": None}
    stream = io.BytesIO()
    with house_style():
        # The layout is worked out once: doing so again moves things by a hair.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata, transparent=transparent)
    return stream.getvalue()
