"""The report page in a real browser, loaded from disk."""

import fcntl
import json
import math
import os
import pty
import select
import struct
import subprocess
import termios
import time

import pytest
from browser import Browser, find_chromium
from limits import HANG

NAME = "<script>alert(1)<!--.npy"


@pytest.fixture(scope="module")
def chromium():
    program = find_chromium()
    if program is None:
        pytest.skip("no chromium: install it (Debian: apt-get install chromium) to test the report page")
    with Browser(program) as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory, command):
    """A page by the search itself, one from a journal, one from several; the tensor has a hostile name."""
    folder = tmp_path_factory.mktemp("report")
    run = lambda *arguments: command(*arguments, code=0)  # noqa: E731
    tensor = folder / NAME
    run("generate", "--order", 4, "--seed", 2, "-o", tensor)
    search = ["search", tensor, "--strategy", "tnls", "--max-rse", 1e-4, "--iterations", 6, "--samples", 20, "--no-prune"]
    journals = []
    for seed in (1, 2, 3):
        journals.append(folder / f"{seed}.jsonl")
        own = ["--report", folder / "search.html"] if seed == 1 else []
        run(*search, "--seed", seed, "--journal", journals[-1], *own)
    run("report", journals[0], "-o", folder / "journal.html")
    run("report", *journals, "--x", tensor, "-o", folder / "several.html")
    return folder


@pytest.mark.parametrize("name", ["search", "journal", "several"])
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_loads_without_a_request_or_an_error(chromium, pages, name, width):
    page = chromium.open(pages / f"{name}.html", width=width)
    assert page.problems == []
    assert page.requests == [(pages / f"{name}.html").as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelectorAll('svg.tn-fig').length") >= 6
    # Nothing is cut off or has to be pushed aside: of two drawings the one that fits is shown.
    boxes = "[...document.querySelectorAll('.scroll, main, .slider, table, svg.tn-fig')].filter((e) => e.clientWidth > 0)"
    assert page.evaluate(f"{boxes}.filter((e) => e.getBoundingClientRect().right > innerWidth + 1).length") == 0
    assert page.evaluate(f"{boxes}.filter((e) => e.scrollWidth > e.clientWidth + 1 && innerWidth < 640).length") == 0
    assert NAME in page.evaluate("document.querySelector('h1').textContent" if name != "several" else "document.body.textContent")


def test_tooltips_by_pointer_and_by_keyboard(chromium, pages):
    page = chromium.open(pages / "search.html")
    assert page.evaluate("document.getElementById('tip').hidden") is True
    page.evaluate("document.querySelector('#search circle[data-tip]').scrollIntoView({block: 'center', behavior: 'instant'})")
    page.move_to(*page.still("#search circle[data-tip]"))
    page.until("!document.getElementById('tip').hidden")
    assert "RSE" in page.evaluate("document.getElementById('tip').textContent")
    page.move_to(3, 3)
    page.until("document.getElementById('tip').hidden")
    page.evaluate("document.querySelector('#search svg.tn-fig').focus({preventScroll: true})")
    said = []
    for _ in range(3):
        page.press("ArrowRight")
        said.append(page.evaluate("document.getElementById('tip').textContent"))
    assert len(set(said)) > 1 and all("evaluation" in text for text in said)
    page.press("Escape")
    assert page.evaluate("document.getElementById('tip').hidden") is True
    assert page.problems == []


def test_the_slider_walks_the_front(chromium, pages):
    page = chromium.open(pages / "search.html")
    assert page.evaluate("document.querySelector('.slider').hidden") is False
    rows = page.evaluate("document.querySelectorAll('#front tbody tr').length")
    assert rows > 1
    seen = []
    for k in range(rows):
        page.evaluate(f"(() => {{ const s = document.getElementById('front-at'); s.value = {k}; s.dispatchEvent(new Event('input')); }})()")
        seen.append(page.evaluate("document.querySelector('#front-says b').textContent"))
        assert page.evaluate("document.querySelectorAll('circle.picked').length") == 2, "one in each drawing"
    assert seen == page.evaluate("[...document.querySelectorAll('#front tbody tr')].map((r) => r.cells[0].textContent)")
    assert "ranks" in page.evaluate("document.getElementById('front-says').textContent")
    assert page.problems == []


def test_the_theme_follows_the_system_and_the_button(chromium, pages):
    paper = "getComputedStyle(document.body).backgroundColor"
    page = chromium.open(pages / "search.html", dark=True)
    assert page.evaluate(paper) == "rgb(18, 23, 30)"
    page = chromium.open(pages / "search.html", dark=False)
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    seen = []
    for _ in range(3):
        page.evaluate("document.getElementById('theme').click()")
        seen.append((page.evaluate("document.getElementById('theme-name').textContent"), page.evaluate(paper)))
    assert seen == [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 23, 30)"), ("auto", "rgb(255, 255, 255)")]
    # The figures go along.
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    ink = page.evaluate("getComputedStyle(document.querySelector('.tn-fig text.rank')).fill")
    assert ink == "rgb(232, 237, 243)"


def test_tables_copy_as_csv(chromium, pages):
    page = chromium.open(pages / "search.html")
    page.evaluate("""
        window.copied = null;
        Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => { window.copied = t; }}});
        document.querySelector('#search details').open = true;
        document.querySelector('#search button.csv').click();
    """)
    rows = [line.split(",") for line in page.evaluate("window.copied").splitlines()]
    assert rows[0] == ["evaluation", "seconds", "params", "RSE", "RE", "loss", "run"]
    header, *records = map(json.loads, (pages / "1.jsonl").read_text().splitlines())
    records = [r for r in records if "key" in r]
    for row in rows[1:]:
        record = records[int(row[0]) - 1]
        assert [float(row[1]), int(row[2]), float(row[3])] == [record["seconds"], record["params"], record["rse"]]


def big_journal(path, evaluations):
    """A journal of many evaluations, as a search writes it."""
    permutation = [(v * 3) % 8 for v in range(8)]
    ring = sorted(tuple(sorted((v, (v + 1) % 8))) for v in range(8))
    with path.open("w") as file:
        header = {"format": "tnsearch-journal", "version": 2, "tnsearch": "0.1.0",
                  "data": {"dims": [4] * 8, "sha256": "0" * 64}, "template": "ring", "objective": {"lambda": 200.0},
                  "strategy": "tnls", "settings": {"max_rank": 7}, "exact": {}, "fit": {}, "max_phi": 10.0, "seed": 1,
                  "runs": 1}  # fmt: skip
        print(json.dumps(header), file=file)
        for k in range(evaluations):
            ranks = [1 + (k * (e + 3) // (e + 1) + e) % 7 for e in range(8)]
            rse = ((k * 7919) % 10007 + 1) / 10007 / (1 + k / 1000)
            at = {vertex: mode for mode, vertex in enumerate(permutation)}
            bonds = sorted((*sorted((at[u], at[v])), rank) for (u, v), rank in zip(ring, ranks) if rank > 1)
            key = "8+0:" + ",".join(f"{u}-{v}x{rank}" for u, v, rank in bonds)
            params = 4 * sum(math.prod(r for edge, r in zip(ring, ranks) if vertex in edge) for vertex in range(8))
            record = {"run": 0, "key": key, "permutation": permutation, "ranks": ranks,
                      "params": params, "rse": rse, "loss": params / 65536 + 200 * rse, "sweeps": 20, "restarts": 4,
                      "seconds": k * 0.01, "refused": False}  # fmt: skip
            print(json.dumps(record, separators=(",", ":")), file=file)


def test_a_hundred_thousand_evaluations(chromium, command, tmp_path):
    journal, page = tmp_path / "big.jsonl", tmp_path / "big.html"
    big_journal(journal, 100_000)
    command("report", journal, "-o", page, code=0)
    # What makes the page quick is that it is small: it does not grow with the search.
    assert page.stat().st_size < 2_000_000
    opened = chromium.open(page)
    assert opened.problems == []
    assert opened.evaluate("document.getElementsByTagName('*').length") < 30_000
    opened.evaluate("document.getElementById('theme').click()")
    opened.until("document.getElementById('theme-name').textContent === 'light'")


def test_journals_that_cannot_be_shown(refused, tmp_path):
    cases = {
        "empty": (b"", "it is empty"),
        "foreign": (b"hello\n", "not a journal of tnsearch"),
        "newer": (b'{"format":"tnsearch-journal","version":7}\n', "version 7"),
    }
    for name, (content, words) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        message = refused("report", path, "-o", tmp_path / "page.html")
        assert message.count("\n") == 1 and words in message, message
    assert "no such file" in refused("report", tmp_path / "nothing", "-o", tmp_path / "page.html").lower()
    assert not (tmp_path / "page.html").exists()


def test_watch_prints_the_state_without_a_terminal(pages, tnsearch, tmp_path):
    text = tnsearch("watch", pages / "1.jsonl")
    assert "1.jsonl, finished" in text and "params" in text and "(m0:3)" in text
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes((pages / "1.jsonl").read_bytes()[:-40])
    assert "broken off" in tnsearch("watch", torn)


@pytest.mark.parametrize("way", ["q", "ctrl-c", "terminate"])
def test_watch_leaves_the_terminal_as_it_was(pages, way):
    leader, follower = pty.openpty()
    # A terminal of 30 rows and 100 columns.
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    before = termios.tcgetattr(follower)
    child = subprocess.Popen([os.environ["TNSEARCH"], "watch", pages / "1.jsonl"],
                             stdin=follower, stdout=follower, stderr=follower,
                             env={**os.environ, "TERM": "xterm-256color"})  # fmt: skip
    try:
        seen = read_until(leader, b"structure")
        assert termios.tcgetattr(follower) != before, "it takes the keys as they come"
        if way == "terminate":
            child.terminate()
        else:
            os.write(leader, b"q" if way == "q" else b"\x03")
        seen += read_until(leader, b"\x1b[?1049l")
        assert child.wait(HANG) == 0
        assert termios.tcgetattr(follower) == before
        assert b"\x1b[?1049h" in seen, "the other screen was taken, and is left"
    finally:
        child.kill()
        child.wait()
        os.close(leader)
        os.close(follower)


def read_until(file, words):
    """What a terminal shows up to some words."""
    seen, end = b"", time.monotonic() + HANG
    while words not in seen:
        assert select.select([file], [], [], end - time.monotonic())[0], seen[-500:]
        seen += os.read(file, 65536)
    return seen
