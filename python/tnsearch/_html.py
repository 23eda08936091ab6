"""What notebooks show of networks and results."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import Network
    from ._result import Result

STYLE = "display:inline-block;vertical-align:top;margin:0 1.5em 0.5em 0"


def table(rows: list[tuple[str, Any]]) -> str:
    """Names and values in two columns.

    >>> table([("params", 12)])
    '<table><tr><th style="text-align:left">params</th><td style="text-align:left">12</td></tr></table>'
    """
    left = 'style="text-align:left"'
    cells = (f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(str(value))}</td></tr>" for name, value in rows)
    return "<table>" + "".join(cells) + "</table>"


def number(value: float) -> str:
    """A number in few digits.

    >>> number(0.0123456), number(1.5e-17)
    ('0.0123', '1.5e-17')
    """
    return f"{value:.3g}"


def shape(sides: Any) -> str:
    """``4 x 4 x 2``.

    >>> shape([4, 4, 2])
    '4 × 4 × 2'
    """
    return " × ".join(map(str, sides))


def size(count: int) -> str:
    """Bytes for people.

    >>> size(512), size(20_000)
    ('512 bytes', '20.0 kB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"


def kind(network: Network) -> str:
    """What the network is called."""
    template = network.structure.template
    return template if isinstance(template, str) else "network"


def facts(network: Network) -> list[tuple[str, Any]]:
    """What is worth knowing of a network."""
    rows: list[tuple[str, Any]] = [("tensor", shape(network.shape))]
    if network.reshaped:
        rows.append(("taken as", shape(network.dims)))
    rows.append(("params", f"{network.params:,} ({size(network.nbytes)})"))
    if network.rse is not None:
        rows.append(("RE", number(network.rse**0.5)))
    return rows


def side_by_side(*parts: str) -> str:
    """Parts in one row where there is room."""
    return "".join(f'<div style="{STYLE}">{part}</div>' for part in parts)


def network_html(network: Network) -> str:
    """The drawing of a network, and what is worth knowing of it."""
    title = f"<strong>tnsearch.Network</strong> ({escape(kind(network))})"
    return f"<div>{side_by_side(network.svg(), title + table(facts(network)))}</div>"


def result_html(result: Result) -> str:
    """The network that was found, and what is known about it."""
    rows: list[tuple[str, Any]] = []
    if result.network is not None:
        rows += [row for row in facts(result.network) if row[0] != "RE"]
    if result.re is not None:
        rows.append(("RE", number(result.re)))
    if result.measure["id"] != "rse" and result.error is not None:
        rows.append((result.measure["id"], number(result.error)))
    if result.log10_cr is not None:
        rows.append(("compression", f"{10**result.log10_cr:,.1f} times"))
    rows.append(("target", "reached" if result.target_reached else "NOT reached"))
    if result.rounding is not None:
        rows.append(("rounding", result.rounding))
    proof = result.statement["text"]
    rows.append(("proof", proof))
    rows.append(("evaluations", f"{result.evaluations:,} of {result.samples:,} samples"))
    rows.append(("stopped by", result.stopped_by))
    name = kind(result.network) if result.network is not None else result.template
    text = f"<strong>tnsearch.Result</strong> ({escape(name)}){table(rows)}"
    drawing = [result.network.svg()] if result.network is not None else []
    return f"<div>{side_by_side(*drawing, text)}</div>"
