"""Every claim that a search shows, in its text, its JSON and its page, against every structure of the set it speaks of.

Nothing is taken from the program but its answers: cuts, widths, parameters, trees and cycles are computed here, by NumPy, for
all placements of the modes and all ranks. A structure counts as possible where no cut rules it out, so what is claimed of a
set must hold for all of these; more cannot be proven from cuts.
"""

import html
import itertools
import json
import math
import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from limits import HANG

#: A graph of one's own, with a cycle and a vertex without a mode.
OWN = {
    "vertices": [{"mode": True}] * 4 + [{"mode": False}],
    "edges": [[0, 1], [0, 4], [1, 4], [2, 4], [3, 4]],
}
FAMILIES = ["path", "ring", "tree", "star", "ht", "tucker", "peps:2x2", "complete", "mera"]
TEMPLATES = [*FAMILIES, "own", "any-tree", "any", None]
DIMS = (2, 3, 2, 2)
OBJECTIVES = [("--max-rse", 1e-8), ("--max-rse", 0.05), ("--max-params", 20), ("--lambda", 2.0)]


# ---- tensors


def ring_tensor(seed, dims=DIMS, noise=0.0):
    """A ring of rank 2, its modes shuffled."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(dims))
    cores = [rng.standard_normal((2, dims[n], 2)) for n in order]
    x = cores[0]
    for core in cores[1:]:
        x = np.tensordot(x, core, (-1, 0))
    x = np.trace(x, axis1=0, axis2=-1).transpose(np.argsort(order))
    return x + noise * np.linalg.norm(x) / math.sqrt(x.size) * rng.standard_normal(x.shape)


def triangle(seed, side=4):
    """Three modes in a ring of rank 2, and one that stands alone: smaller than any tree."""
    rng = np.random.default_rng(seed)
    a, b, c = (rng.standard_normal((side, 2, 2)) for _ in range(3))
    return np.einsum("iab,jbc,kca,l->ijkl", a, b, c, rng.standard_normal(3))


# ---- sets of structures


def tails(x, side):
    """What lies beyond the first k singular values of an unfolding, relative to all."""
    rows = [n for n in range(x.ndim) if side >> n & 1]
    others = [n for n in range(x.ndim) if not side >> n & 1]
    unfolded = x.transpose(rows + others).reshape(math.prod(x.shape[n] for n in rows), -1)
    squares = np.linalg.svd(unfolded, compute_uv=False) ** 2
    return np.append(np.cumsum(squares[::-1])[::-1], 0.0) / squares.sum()


class Everything:
    """All structures of a set: their params, and the error that no fit goes below."""

    def __init__(self, x, params, errors):
        self.x, self.params, self.errors = x, np.concatenate(params).astype(float), np.concatenate(errors)

    def least(self, objective):
        """The least of what is minimised; infinite where nothing is what was asked for."""
        [(kind, value)] = objective.items()
        if kind == "max_rse":
            values = self.params[self.errors <= value]
        elif kind == "max_params":
            values = self.errors[self.params <= value]
        else:
            values = self.params / self.x.size + value * self.errors
        return values.min(initial=math.inf)


def of_graph(x, graph, max_rank):
    """The structures of a graph: all orders of the modes, all ranks."""
    vertices, edges = graph
    n, inner = x.ndim, vertices - x.ndim
    ranks = np.array(list(itertools.product(range(1, max_rank + 1), repeat=len(edges)))).reshape(-1, len(edges))
    ends = [[e for e, edge in enumerate(edges) if v in edge] for v in range(vertices)]
    cores = [np.prod(ranks[:, e], axis=1) for e in ends]

    def width(outer):
        sides = [outer | k << n for k in range(2**inner)]
        crossed = [[e for e, (u, v) in enumerate(edges) if (s >> u & 1) != (s >> v & 1)] for s in sides]
        return np.min([np.prod(ranks[:, c], axis=1) for c in crossed], axis=0)

    widths = {side: width(side) for side in range(1, 2**n - 1)}
    cut = {side: tails(x, side) for side in range(1, 2 ** (n - 1))}
    params, errors = [], []
    for place in itertools.permutations(range(n)):
        params.append(sum(cores[n:], 0) + sum(cores[v] * x.shape[m] for m, v in enumerate(place)))
        worst = np.zeros(len(ranks))
        for side, tail in cut.items():
            put = sum(1 << place[m] for m in range(n) if side >> m & 1)
            worst = np.maximum(worst, tail[np.minimum(widths[put], len(tail) - 1)])
        errors.append(worst)
    return Everything(x, params, errors)


def partitions(modes):
    """All ways to put modes together."""
    if not modes:
        yield []
        return
    first, *rest = modes
    for parts in partitions(rest):
        yield [[first], *parts]
        for k in range(len(parts)):
            yield [*parts[:k], [first, *parts[k]], *parts[k + 1 :]]


def trees_on(vertices):
    """Every labelled tree, from its Pruefer code."""
    if vertices < 3:
        yield [(0, 1)] if vertices == 2 else []
        return
    for code in itertools.product(range(vertices), repeat=vertices - 2):
        degree = [1 + code.count(v) for v in range(vertices)]
        edges = []
        for v in code:
            leaf = degree.index(1)
            edges.append((leaf, v))
            degree[leaf] -= 1
            degree[v] -= 1
        edges.append(tuple(v for v in range(vertices) if degree[v] == 1))
        yield edges


def of_trees(x):
    """All trees: every topology, any number of modes at a vertex, every rank that is of use."""
    cut = {side: tails(x, side) for side in range(1, 2**x.ndim - 1)}
    params, errors = [np.array([x.size])], [np.array([0.0])]
    for groups in partitions(list(range(x.ndim))):
        for inner in range(max(len(groups) - 1, 0)):
            vertices = len(groups) + inner
            for edges in trees_on(vertices):
                ends = [[e for e, edge in enumerate(edges) if v in edge] for v in range(vertices)]
                if vertices < 2 or any(len(ends[v]) < 3 for v in range(len(groups), vertices)):
                    continue
                sides = [behind(edges, e, groups) for e in range(len(edges))]
                most = [len(cut[side]) - 1 for side in sides]
                ranks = np.array(list(itertools.product(*(range(1, m + 1) for m in most))))
                size = [math.prod(x.shape[m] for m in group) for group in groups] + [1] * inner
                params.append(sum(s * np.prod(ranks[:, e], axis=1) for s, e in zip(size, ends, strict=True)))
                errors.append(np.max([cut[s][ranks[:, e]] for e, s in enumerate(sides)], axis=0))
    return Everything(x, params, errors)


def behind(edges, cut, groups):
    """The modes on one side of an edge of a tree."""
    near, grown = {edges[cut][0]}, True
    while grown:
        more = {w for e, (u, v) in enumerate(edges) if e != cut for w in (u, v) if u in near or v in near}
        grown, near = not more <= near, near | more
    return sum(1 << m for v in near if v < len(groups) for m in groups[v])


def is_tree(edges):
    """Whether edges [u, v, rank] make no cycle; rank 1 is none."""
    parts = {}

    def root(v):
        while parts.get(v, v) != v:
            v = parts[v]
        return v

    for u, v, rank in edges:
        if rank > 1:
            if root(u) == root(v):
                return False
            parts[root(u)] = root(v)
    return True


# ---- claims


@pytest.fixture(scope="module")
def graph_of(tnsearch, tmp_path_factory):
    """The graph of a template, from a structure of it: vertices, and edges."""
    place = tmp_path_factory.mktemp("graphs")

    def graph(template, order):
        if isinstance(template, dict):
            return len(template["vertices"]), [tuple(e) for e in template["edges"]]
        if template in ("any", "complete"):
            return order, list(itertools.combinations(range(order), 2))
        line = ["generate", "--template", template, "--dims", ",".join(["2"] * order), "--ranks", "2..2", "-o", place / "x.npy"]
        edges = json.loads(tnsearch(*line, "--json", "-"))["edges"]
        return 1 + max(max(u, v) for u, v, _ in edges), [(u, v) for u, v, _ in edges]

    return graph


@pytest.fixture
def searched(command, tmp_path):
    """A search: what it says in JSON, on the terminal and on its page (without markup), and on the page of its journal."""

    def plain(page):
        text = re.sub(r"<(style|script).*?</\1>", " ", page.read_text(encoding="utf-8"), flags=re.S)
        return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]+>", " ", text)))

    def interrupted(line, point):
        """The command, told to stop at a point where it waits (`TNSEARCH_TEST_HOLD`)."""
        held = tmp_path / "held"
        held.unlink(missing_ok=True)
        environment = {**os.environ, "TNSEARCH_TEST_HOLD": f"{held}:{point}"}
        program = [os.environ["TNSEARCH"], *map(str, line)]
        started = subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not held.exists() and started.poll() is None:
            time.sleep(0.001)
        if not held.exists():
            pytest.skip("the program is no debug build, or ended before that point")
        started.send_signal(signal.SIGINT)
        stdout, stderr = started.communicate(timeout=HANG)
        assert started.returncode == 130, stderr
        return subprocess.CompletedProcess(program, 130, stdout, stderr)

    def search(x, template, *options, codes=(0, 1), hold=None):
        np.save(tmp_path / "x.npy", x)
        if template == "own":
            (tmp_path / "own.json").write_text(json.dumps(OWN))
            template = tmp_path / "own.json"
        files = {name: tmp_path / name for name in ("out.json", "page.html", "run.jsonl", "later.html")}
        files["run.jsonl"].unlink(missing_ok=True)
        line = ["search", tmp_path / "x.npy", "--json", files["out.json"], "--report", files["page.html"]]
        line += ["--journal", files["run.jsonl"], *([] if template is None else ["--template", template]), *options]
        done = interrupted(line, hold) if hold else None
        for code in () if hold else codes:
            try:
                done = command(*line, code=code)
                break
            except AssertionError:
                if code == codes[-1]:
                    raise
                files["run.jsonl"].unlink(missing_ok=True)
        later = command("report", files["run.jsonl"], "-o", files["later.html"], code=0)
        report = json.loads(files["out.json"].read_text())
        pages = [plain(files["page.html"]), plain(files["later.html"])]
        # Of a journal whose lines are left out, less can be said.
        return report, done.stdout, pages[:1] if "damaged" in later.stderr else pages

    return search


def inside(over, structure, template):
    """Whether a structure is one of those that a proof is about; None where that takes more than a look."""
    edges, order = structure["edges"], len(structure["permutation"])
    if over["template"] == "any-tree":
        # A CP has a hyperedge: its file shows it as a star, but it is no tree.
        return template != "cp" and is_tree(edges)
    if max((r for *_, r in edges), default=1) > over["max_rank"]:
        return False
    if over["template"] in ("any", "complete"):
        # One mode at each vertex, and no others.
        alone = len(set(structure["permutation"])) == order
        return True if alone and all(max(u, v) < order for u, v, _ in edges) else None
    return True if template == over["template"] else None


def value_of(report):
    """What was minimised, of the answer."""
    [(kind, _)] = report["objective"].items()
    return {"max_rse": report["params"], "max_params": report["rse"], "lambda": report["loss"]}[kind]


def check(report, terminal, pages, everything):
    """Every claim shown."""
    said, over = report["statement"], report["bound_over"]
    text, proven = said["text"], said["proven"]
    # One statement, and all that repeats it agrees.
    assert over == said["over"]
    assert (proven == "nothing") == (report["lower_bound"] is None and not report["proven_impossible"])
    assert (proven == "optimal") == report["certified_optimal"]
    assert (proven == "impossible") == report["proven_impossible"]
    assert (over is None) == (proven == "nothing")
    assert text in terminal, terminal
    for page in pages:
        assert text[0].upper() + text[1:] + "." in page, (text, page)
        assert "could still be saved" not in page and "proven lower bound" not in page
        assert "on your own graph" not in page or "own.json" in terminal
        assert ("largest rank allowed" in page) <= bool(report["edges_at_max_rank"])
        assert "closest" not in page
    assert "closest" not in terminal
    reached = report["target_reached"]
    answer_inside = reached and over is not None and inside(over, report, report["template"])
    if answer_inside is None:
        answer_inside = said["answer"] == "inside"
    assert (said["answer"] == "inside") == bool(answer_inside)
    for page in pages:
        assert ("none could save more than" in page) <= bool(answer_inside)
        if over is not None and "proven: no " in page.replace("proven: no better", ""):
            points = [(p, p.get("template", report["template"])) for p in report["pareto"]]
            line = "below" in page.split("proven: no ", 1)[1][:120]
            assert not line or all(inside(over, *point) is not False for point in points), page
    check_missed(report, terminal)
    if proven == "nothing":
        return "nothing"
    # The words name the set.
    words = "tree of any topology" if over["template"] == "any-tree" else f"ranks up to {over['max_rank']}"
    assert words in text
    space = everything(over)
    least = space.least(report["objective"])
    if proven == "impossible":
        assert least == math.inf and not reached
        needed = report["needed_rank"]
        if needed is not None:
            assert f"use --max-rank {needed['rank']} or more" in text
            for rank in range(1, min(needed["rank"], 4)):
                assert everything({**over, "max_rank": rank}).least(report["objective"]) == math.inf
        return "impossible"
    bound = next(v for v in report["lower_bound"].values() if v is not None)
    slack = 1e-9 * max(1.0, abs(bound))
    assert bound <= least + slack
    # The figure in the words is no more than what is proven.
    for figure in re.findall(r"at least ([\d.e+-]+)|>= ([\d.e+-]+)", text):
        assert float(next(filter(None, figure)).rstrip(".")) <= least + slack
    gap = re.search(r"found is ([\d.]+) times that", text)
    if gap:
        assert answer_inside and float(gap[1]) == pytest.approx(report["params"] / bound, abs=1e-3)
    if "than any of these can" in text:
        assert not answer_inside and value_of(report) < least
    if "none of these" in text and "; none of these" in text:
        assert not answer_inside and value_of(report) <= least + slack
    if proven == "optimal":
        assert answer_inside and value_of(report) <= least + slack + 4e-12
        return "optimal"
    return "outside" if reached and not answer_inside else "gap" if reached else "missed"


def check_missed(report, terminal):
    """What is said of an answer that is none."""
    if report["params"] is None:
        assert report["no_answer"] is not None and "\nfound       nothing: " in terminal
        return
    assert report["no_answer"] is None
    assert ("NOT reached" in terminal) == (not report["target_reached"])
    if report["target_reached"]:
        return
    nearest = min(point["rse"] for point in report["pareto"])
    if "came nearer" in terminal:
        assert report["rse"] <= nearest
    if " and the nearest has " in terminal:
        assert report["rse"] > nearest


@pytest.fixture
def sets(graph_of):
    """The structures of a set on a tensor, worked out once."""

    def over(x):
        known = {}

        def everything(over):
            key = json.dumps(over)
            if key not in known:
                trees = over["template"] == "any-tree"
                graph = None if trees else graph_of(over["template"], x.ndim)
                known[key] = of_trees(x) if trees else of_graph(x, graph, over["max_rank"])
            return known[key]

        return everything

    return over


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: f"{o[0]}={o[1]}")
def test_what_is_claimed_of_a_template_holds(template, objective, searched, sets):
    x = ring_tensor(3, noise=0.02)
    everything = sets(x)
    rank = [] if template in (None, "any-tree") else ["--max-rank", 2]
    outcome = check(*searched(x, template, *objective, *rank), everything)
    assert outcome != "nothing"


@pytest.mark.parametrize("template", [t for t in TEMPLATES if t not in (None, "any-tree")])
def test_the_impossible_is_so(template, searched, sets):
    x = ring_tensor(5, noise=0.5)
    outcome = check(*searched(x, template, "--max-rse", 1e-6, "--max-rank", 1), sets(x))
    assert outcome == "impossible"


@pytest.mark.parametrize("seed", range(3))
def test_a_network_with_a_cycle_may_be_smaller_than_any_tree(seed, searched, sets):
    """Of a triangle beside a mode alone: as few edges as vertices less one, and yet no tree."""
    x = triangle(seed)
    report, terminal, pages = searched(x, None, "--max-re", 1e-4)
    outcome = check(report, terminal, pages, sets(x))
    if not is_tree(report["edges"]):
        assert outcome == "outside" and report["statement"]["answer"] == "cyclic"
        assert not report["certified_optimal"]
        assert all("optimal" not in page for page in pages)


def test_ranks_above_those_of_the_proof_are_no_part_of_it(searched, sets):
    """Without --max-rank a ring may have any rank, and proofs are about ranks up to 7."""
    x = np.random.default_rng(1).standard_normal((9, 9, 2))
    for options in (["--max-rse", 0.02], ["--max-params", 150], ["--max-rse", 0.3]):
        report, terminal, pages = searched(x, "path", *options, "--max-seconds", 20)
        check(report, terminal, pages, sets(x))
        assert report["edges_at_max_rank"] is None
        if report["edges"] and max(r for *_, r in report["edges"]) > 7:
            assert report["statement"]["answer"] in ("ranks", None) and not report["certified_optimal"]


@pytest.mark.parametrize("template", ["ring", "any-tree", None])
def test_a_search_that_is_cut_short_claims_no_more_than_it_may(template, searched, sets):
    x = ring_tensor(7, dims=(3, 3, 2, 3), noise=0.1)
    rank = ["--max-rank", 3] if template == "ring" else []
    for limit in (["--max-seconds", 0.001], ["--max-seconds", 0.2], ["--max-evaluations", 1]):
        check(*searched(x, template, "--max-rse", 0.003, *rank, *limit), sets(x))


@pytest.mark.parametrize("point", ["preparation", "evaluation 1"])
@pytest.mark.parametrize("template", ["ring", "any-tree", None])
def test_one_that_is_interrupted_neither(template, point, searched, sets):
    x = ring_tensor(7, dims=(3, 3, 2, 3), noise=0.1)
    rank = ["--max-rank", 3] if template == "ring" else []
    report, terminal, pages = searched(x, template, "--max-rse", 0.003, *rank, hold=point)
    check(report, terminal, pages, sets(x))
    assert report["stopped_by"] == "interrupted"
    if report["params"] is None:
        assert report["no_answer"] == "interrupted"


def test_a_network_is_compared_with_what_it_is_one_of(tnsearch, tmp_path):
    """A ring is no tree, however small: a bound over trees makes it neither optimal nor so many times the bound."""
    x, net = tmp_path / "x.npy", tmp_path / "net.safetensors"
    np.save(x, triangle(1))
    tnsearch("search", x, "--template", "ring", "--max-re", 1e-4, "-o", net)
    for template, inside in (("any-tree", False), ("path", False), ("ring", True)):
        line = ["certify", x, "--template", template, "--max-re", 1e-4, "--net", net]
        report, text = json.loads(tnsearch(*line, "--json", "-")), tnsearch(*line)
        assert (report["statement"]["answer"] == "inside") == inside
        assert (report["net"]["gap"] is not None) == inside
        if not inside:
            assert not report["net"]["certified_optimal"] and "verdict     optimal" not in text
            assert "verdict     not comparable" in text or "it does what no" in text


def test_where_nothing_is_found_the_reason_is_the_true_one(searched, sets):
    x = ring_tensor(8)
    report, terminal, pages = searched(x, "ring", "--max-phi", 0.01, "--strategy", "tnls", "--samples", 4, "--iterations", 2)
    check(report, terminal, pages, sets(x))
    assert report["params"] is None and set(report["no_answer"]) == {"too_large"}
    assert "0.01 times the tensor's entries" in terminal and all("0.01 times" in page for page in pages)


def test_a_miss_names_the_nearest_only_where_it_is(searched, sets):
    x = np.random.default_rng(2).standard_normal((6, 6, 6))
    for template in (None, "path", "ring"):
        line = ["--max-rse", 1e-3, "--max-rank", 2] if template else ["--max-rse", 1e-3, "--max-seconds", 3]
        report, terminal, pages = searched(x, template, *line)
        check(report, terminal, pages, lambda over: sets(x)(over) if over["max_rank"] else of_trees(x))


def test_where_nothing_can_be_proven_it_is_said_why(searched):
    x = np.abs(ring_tensor(9, noise=0.1)) + 0.1
    for options, reason in [
        (["--loss", "kl", "--lambda", 1], "other_loss"),
        (["--strategy", "greedy", "--template", "ring", "--max-rse", 0.01], "all_graphs"),
        (["--strategy", "tnls", "--certificate-nodes", 0, "--max-rse", 0.01], "not_asked"),
    ]:
        report, terminal, pages = searched(x, None, *options)
        assert check(report, terminal, pages, None) == "nothing"
        assert report["statement"]["reason"] == reason, report["statement"]


def test_what_is_proven_of_a_smaller_tensor_is_proven_of_the_whole(searched, sets):
    rng = np.random.default_rng(4)
    x = np.einsum("ia,jb,kc,abc->ijk", *(rng.standard_normal((20, 2)) for _ in range(3)), rng.standard_normal((2, 2, 2)))
    for template in ("path", "tucker", None):
        rank = ["--max-rank", 3] if template else []
        report, terminal, pages = searched(x, template, "--max-rse", 1e-6, *rank)
        assert report["shrunk"] is not None
        check(report, terminal, pages, sets(x))
