"""How a search comes along: one line in a terminal or a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any

# A search that ends within this shows nothing.
FIRST = 0.5
# Seconds between two lines.
EVERY = 0.2


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(3.21), duration(75), duration(7300)
    ('3.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def line(state: dict[str, Any], elapsed: float, limits: dict[str, float | None]) -> str:
    """The state of a search in one line: rate, best so far, time left."""
    done, fits = state["samples"], state["evaluations"]
    planned = state["planned_samples"]
    parts = [f"{done} of {planned} samples" if planned else f"{done} samples"]
    parts.append(f"{fits} evaluations ({fits / max(elapsed, 1e-3):.3g}/s)")
    if state["params"] is not None:
        best = f"best {state['params']} params, error {state['error']:.3g}"
        parts.append(best if state["target_reached"] else best + " (target not reached yet)")
    parts_done = [(done, planned), (fits, limits.get("max_evaluations")), (elapsed, limits.get("max_seconds"))]
    shares = [part / whole if whole else 0.0 for part, whole in parts_done]
    share = min(max(shares), 1.0)
    if share > 0:
        parts.append(f"{duration(elapsed * (1 - share) / share)} left")
    return ", ".join(parts)


def in_notebook() -> bool:
    """Whether cells can show something."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and "IPKernelApp" in getattr(running, "config", {})


class Progress:
    """Shows the newest state. ``wanted`` is True, False, or None: in terminals and notebooks only."""

    def __init__(self, wanted: bool | None, **limits: float | None) -> None:
        self.notebook = in_notebook()
        self.terminal = not self.notebook and sys.stderr is not None and sys.stderr.isatty()
        self.shown = bool(wanted) if wanted is not None else self.notebook or self.terminal
        self.limits = limits
        self.begun = self.last = time.monotonic()
        self.handle: Any = None
        self.width = 0

    def update(self, state: dict[str, Any]) -> None:
        """Shows a state, unless the last one is too fresh."""
        now = time.monotonic()
        every = EVERY if self.terminal or self.notebook else 2.0
        if not self.shown or now - self.begun < FIRST or now - self.last < every:
            return
        self.last = now
        self.write(line(state, now - self.begun, self.limits))

    def write(self, text: str) -> None:
        """Writes a line over the one before, where that can be."""
        if self.notebook:
            from IPython.display import display  # pyright: ignore[reportMissingImports]

            if self.handle is None:
                self.handle = display({"text/plain": text}, raw=True, display_id=True)
            else:
                self.handle.update({"text/plain": text}, raw=True)
        elif self.terminal:
            print("\r" + text.ljust(self.width), end="", file=sys.stderr, flush=True)
            self.width = len(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Clears the line of a terminal."""
        if self.shown and self.terminal and self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)
