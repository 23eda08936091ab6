"""Pictures with matplotlib, where that is installed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ._interop import needed

if TYPE_CHECKING:
    from ._core import Network
    from ._result import Result

# The colours of the report page.
MODE, INNER, EDGE, NONE = "#0068a8", "#8a5a00", "#5f6f82", "#9aa5b1"


def axes(ax: Any, function: str, size: tuple[float, float] | None = None) -> Any:
    """The axes given, or new ones."""
    if ax is not None:
        if not hasattr(ax, "plot") or not hasattr(ax, "transData"):
            raise TypeError(f"ax is a {type(ax).__name__}; it must be axes of matplotlib")
        return ax
    pyplot = needed("matplotlib.pyplot", function, "matplotlib")
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def plot_network(network: Network, ax: Any = None) -> Any:
    """See :meth:`Network.plot`."""
    places = network._layout()
    xs, ys = [x for x, _ in places], [y for _, y in places]
    wide, high = max(xs) - min(xs) + 64, max(ys) - min(ys) + 64
    ax = axes(ax, "plot()", (max(wide, 150) / 72, max(high, 100) / 72))
    structure, names = network.structure, network.mode_names
    for u, v, rank in structure.edges:
        (x, y), (to_x, to_y) = places[u], places[v]
        if rank == 1:
            ax.plot([x, to_x], [y, to_y], color=NONE, linewidth=1, linestyle=":", zorder=1)
            continue
        width = 1.2 + 1.1 * math.log2(rank)
        ax.plot([x, to_x], [y, to_y], color=EDGE, linewidth=width, solid_capstyle="round", zorder=1)
        paper = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        middle = ((x + to_x) / 2, (y + to_y) / 2)
        ax.text(*middle, str(rank), ha="center", va="center", fontsize=9, bbox=paper, zorder=2)
    for (x, y), modes in zip(places, structure.modes, strict=True):
        ax.scatter([x], [y], s=900 if modes else 350, color=MODE if modes else INNER, marker="o" if modes else "s", zorder=3)
        if modes:
            text = "\n".join(f"{names[n]}: {network.dims[n]}" for n in modes[:3])
            text += "\n..." if len(modes) > 3 else ""
            small = 7 if len(modes) > 1 or len(text) > 6 else 8
            ax.text(x, y, text, ha="center", va="center", fontsize=small, color="white", zorder=4)
    ax.set_xlim(min(xs) - 32, max(xs) + 32)
    ax.set_ylim(max(ys) + 32, min(ys) - 32)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(f"{network.params:,} params", fontsize=10)
    return ax


def plot_history(result: Result, ax: Any = None) -> Any:
    """How the best improved with the evaluations: its params, and its error.

    Parameters
    ----------
    result
        What :func:`tnsearch.search` returned.
    ax
        Axes of matplotlib; new ones without.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes(ax, "plot_history()", (6, 3.6))
    measure = result.measure["id"]
    points = result.history
    at = [point["evaluations"] for point in points]
    end = max([result.evaluations, *at]) if at else result.evaluations
    params = [point["params"] for point in points]
    if points:
        ax.step([*at, end], [*params, params[-1]], where="post", color=MODE, linewidth=2)
        ax.plot(at, params, "o", color=MODE, markersize=4)
        # The error on axes of its own: it has another scale, and logarithms cannot show 0.
        other = ax.twinx()
        errors = [max(error(point, measure), 1e-32) for point in points]
        other.step([*at, end], [*errors, errors[-1]], where="post", color="#c2410c", linewidth=1.2, linestyle="--")
        other.set_yscale("log")
        name = "RE" if measure == "rse" else measure
        other.set_ylabel(f"{name} (dashed)", color="#c2410c")
    bound = (result.lower_bound or {}).get("params")
    # A bound over some structures is none for an answer that is not one of them.
    if bound is not None and result.statement["answer"] in ("inside", None):
        ax.axhline(bound, color="black", linewidth=1, linestyle=":")
        over = result.bound_over or {}
        trees = over.get("template") == "any-tree"
        what = "trees" if trees else f"ranks up to {over.get('max_rank')}"
        ax.annotate(f"proven for {what}: at least {bound:,.0f}", (0.01, bound), xycoords=("axes fraction", "data"), va="bottom", fontsize=8)
    ax.set_xlabel("evaluations")
    ax.set_ylabel("params of the best", color=MODE)
    ax.margins(x=0.02, y=0.15)
    ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


def plot_pareto(result: Result, ax: Any = None) -> Any:
    """The front of everything that was fitted: the smallest error for each number of params.

    Parameters
    ----------
    result
        What :func:`tnsearch.search` returned.
    ax
        Axes of matplotlib; new ones without.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes(ax, "plot_pareto()", (6, 3.6))
    measure = result.measure["id"]
    points = sorted(result.pareto, key=lambda point: point["params"])
    params = [point["params"] for point in points]
    errors = [max(error(point, measure), 1e-16) for point in points]
    if points:
        ax.step(params, errors, where="post", color=NONE, linewidth=1)
        ax.plot(params, errors, "o", color=MODE, markersize=5, label="front")
        ax.set_yscale("log")
    if result.params is not None and result.error is not None:
        best = max(error({measure: result.error}, measure), 1e-16)
        ax.plot([result.params], [best], "*", color="#c2410c", markersize=14, label="found")
    if points or result.params is not None:
        ax.legend(frameon=False, fontsize=9)
    ax.set_xlabel("params")
    ax.set_ylabel("RE" if measure == "rse" else measure)
    return ax


def error(point: dict[str, Any], measure: str) -> float:
    """The error of a point as it is shown: RE, the root, for the squared relative error.

    >>> error({"rse": 0.25}, "rse"), error({"kl": 0.25}, "kl")
    (0.5, 0.25)
    """
    value = float(point[measure])
    return math.sqrt(max(value, 0.0)) if measure == "rse" else value
