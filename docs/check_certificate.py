"""python check_certificate.py c.json X.npy: exit code 0 where the certificate proves what it says of the tensor, else 1.
Nothing but numpy is trusted; docs/bounds.md says why it is a proof, docs/formats.md what the fields are."""
import bisect, hashlib, json, math, struct, sys
import numpy as np

def need(holds, why):
    if not holds: raise ValueError(why)
def load(c, path):  # the tensor in the shape in which it was taken; it must be the one meant
    kinds = {"f32": "<f4", "f64": "<f8", "complex64": "<c8", "complex128": "<c16"}
    x, dims, kind, norm = np.load(path), *(c["data"][name] for name in ("dims", "dtype", "norm"))
    said, read = c["reshaped"] or list(x.shape) == dims, x.reshape(dims, order="F" if c["reshaped"] and c["reshaped"]["column_major"] else "C")
    x = np.ascontiguousarray(read, kinds[kind] if x.dtype.kind != "c" or "complex" in kind else read.dtype)
    need(said and np.array_equal(x, read), f"the file holds no {kind} of {dims}")
    head = ("" if kind == "f64" else kind).encode() + struct.pack(f"<{1 + len(dims)}Q", len(dims), *dims)
    need(list(x.shape) == dims and hashlib.sha256(head + x.tobytes()).hexdigest() == c["data"]["sha256"], "another tensor")
    x, scale = x.astype("c16" if np.iscomplexobj(x) else "f8"), float(np.abs(x).max())
    long = float(np.linalg.norm((x / scale).ravel()))
    need(norm is None or np.isclose(long * scale, norm, 1e-6, 0), "another norm")
    return contract(c, x / scale / long)
def contract(c, x):  # version 3: for u of length 1 X u is as near to Z u as X to Z, or nearer, and if Z is a tree so is Z u
    for m, u in ((part["mode"], np.array(part["re"]) + (1j * np.array(part["im"]) if "im" in part else 0)) for part in c.get("contracted", [])):
        need(u.shape == (x.shape[m],) and 0 < np.abs(u).max() < math.inf, f"mode {m}: no vector")
        u = u / np.abs(u).max()
        x = np.expand_dims(np.tensordot(u.conj() / np.linalg.norm(u), x, (0, m)), m)
    return x
def allows(c, cut, params):  # version 2: what has so many params and is narrower than the cut has the loss that is claimed
    return params / math.prod(c["data"]["dims"]) + c["lambda"] * (cut["tail"] - cut["slack"]) >= c["loss"] * (1 - 1e-12)
def check_cut(c, x, cut):  # whatever is near enough has an unfolding of that rank, by Eckart and Young
    modes, width, tail, slack = cut["modes"], cut["width"], cut["tail"], cut["slack"]
    eps = c["max_rse"] if "max_rse" in c else (tail - slack) * (1 - 1e-12)  # of losses what the cases count with
    rest = [m for m in range(x.ndim) if m not in modes]
    need(modes and rest and len(modes + rest) == x.ndim and type(width) is int and width > 1, f"no cut: {cut}")
    squares = np.linalg.svd(x.transpose(modes + rest).reshape(math.prod(x.shape[m] for m in modes), -1), compute_uv=False) ** 2
    found, rounded = np.sum(squares[width - 1:]), 1e-12 if "contracted" in c else 1e-13
    need(found - rounded * found**0.5 > eps, f"modes {modes}: rank {width - 1} leaves {found}, not above {eps}")
    need(abs(found - tail) <= slack + c["lost"] and tail - slack > eps, f"modes {modes}: the tail is {found}, not {tail}")
def check_tree(c):  # every structure is in a case that is ruled out: the vertex of some modes, a range for each rank
    dims, edges, outer = c["data"]["dims"], c["template"]["edges"], [v["mode"] for v in c["template"]["vertices"]]
    priced, fewest = "loss" in c, sum(dims) + outer.count(False)  # every core has an entry for each index of its mode
    goal = math.ceil(c["loss"] * (1 - 1e-12) * math.prod(dims)) if priced else math.inf if c["params"] is None else c["params"]
    need(outer.count(True) == len(dims) and {type(o) for o in outer} == {bool}, "its graph has not one vertex for each mode")
    simple = {frozenset(e) for e in edges if len(e) == len(set(e)) == 2 and set(e) <= set(range(len(outer)))}
    need(len(simple) == len(edges) and type(c["max_rank"]) is int and (goal == math.inf or type(goal) is int), "no graph, rank or params")
    every, cuts = set(range(len(dims))), [(set(cut["modes"]), cut["width"]) for cut in c["cuts"]]
    said = [cut for cut in c["cuts"] if not priced or allows(c, cut, fewest)]
    alone = [max([cut["width"] for cut in said if set(cut["modes"]) in ({m}, every - {m})], default=1) for m in every]
    def params(at, ranks):  # no structure of the case has less, wherever the other modes sit
        core = [math.prod(r for r, e in zip(ranks, edges) if v in e) for v in range(len(outer))]
        known = sum(dims[m] * max(core[v], alone[m]) for m, v in at.items())
        free = sorted((k for v, k in enumerate(core) if outer[v] and v not in at.values()), reverse=True)
        cheapest = sum(k * d for k, d in zip(free, sorted(dims[m] for m in every - set(at))))
        return known + max(cheapest, sum(dims[m] * alone[m] for m in every - set(at))) + sum(k for k, o in zip(core, outer) if not o)
    def capped(at, low, high):  # an edge with which the params reach the goal is too wide
        fits = lambda e, r: params(at, low[:e] + [r] + low[e + 1:]) < goal
        wide = lambda e: bisect.bisect_left(range(low[e], high[e] + 1), True, key=lambda r: not fits(e, r))
        return [low[e] - 1 + wide(e) for e in range(len(low))]
    cases = [({}, [1] * len(edges), [c["max_rank"]] * len(edges))]
    for n, node in enumerate(c["tree"]):
        (at, low, high), parts = cases.pop(), []
        high = capped(at, low, high)
        for k, inside in node.get("cuts", []):  # the ranks across a cut have a product of at least its width
            modes = cuts[k][0] if cuts[k][0] <= set(at) else every - cuts[k][0]
            need(modes <= set(at) and not any(outer[v] for v in inside), f"node {n}: cut {k} is not settled")
            if priced and not allows(c, c["cuts"][k], params(at, low)): continue  # narrower ones may have a smaller loss
            side = {at[m] for m in modes} | set(inside)
            crossed = [e for e, (u, v) in enumerate(edges) if (u in side) != (v in side)]
            others = {e: max(1, math.prod(high[f] for f in crossed if f != e)) for e in crossed}
            low = [max(r, -(-cuts[k][1] // others[e])) if e in others else r for e, r in enumerate(low)]
            high = capped(at, low, high)
        free = [v for v, o in enumerate(outer) if o and v not in at.values()]
        if "place" in node:  # a mode on each free vertex, up to symmetries of the case
            m, on, by = node["place"]["mode"], node["place"]["on"], node["place"].get("by", [])
            ranges = {frozenset(e): (a, b) for e, a, b in zip(edges, low, high)}
            for g in by:
                kept = sorted(g) == list(range(len(outer))) and all(g[v] == v for v in at.values()) and all(ranges.get(frozenset(g[v] for v in e)) == r for e, r in ranges.items())
                need(kept and all(outer[v] == outer[w] for v, w in enumerate(g)), f"node {n}: no symmetry")
            left_out = [v for v in free if v not in on and not any(g[v] in on for g in by)]
            need(m in every - set(at) and set(on) <= set(free) and not left_out, f"node {n}: mode {m} on vertices {left_out} too")
            parts = [({**at, m: v}, low, high) for v in on]
        elif "fill" in node:  # each mode without a vertex on this one
            need(node["fill"] in free, f"node {n}: its vertex is not free")
            parts = [({**at, m: node["fill"]}, low, high) for m in sorted(every - set(at))]
        elif "split" in node:  # the edge has at most that rank, or more
            e, k = node["split"]
            need(type(k) is int and e >= 0 and low[e] <= k < high[e], f"node {n}: there is nothing to be split")
            parts = [(at, low, high[:e] + [k] + high[e + 1:]), (at, low[:e] + [k + 1] + low[e + 1:], high)]
        else:
            need(any(a > b for a, b in zip(low, high)) or params(at, low) >= goal, f"node {n}: it is not ruled out")
        cases += reversed(parts)
    need(not cases, f"the tree ends, and {len(cases)} cases are open")

def check_all_trees(c):
    need(c["max_rank"] is None and not c["tree"], "trees of any topology have any ranks, and need no cases")
    if "params" in c: return need(least(c, c["cuts"]) >= c["params"], "not all trees have so many params")
    for low, high in zip([0, *c["errors"]], [*c["errors"], math.inf]):  # trees whose error is from low up to high
        params = least(c, [cut for cut in c["cuts"] if cut["tail"] - cut["slack"] >= high])
        need(low < high and allows(c, {"tail": low, "slack": 0}, params), f"an error from {low} up to {high} has a smaller loss")
def least(c, cuts):  # a bundle on a set of modes: the width of what hangs on a vertex, and the params beyond
    gone, left = [part["mode"] for part in c.get("contracted", [])], list(range(len(c["data"]["dims"])))
    [left.remove(m) for m in gone]  # each once; from its core at least one entry less than its length is gone
    dims, front, width, full = [c["data"]["dims"][m] for m in left], {}, {}, 2 ** len(left) - 2  # hung up at the first
    for side, w in ((sum(2 ** left.index(m) for m in cut["modes"]), cut["width"]) for cut in cuts):
        side = full + 1 - side if side & 1 else side
        width[side] = max(w, width.get(side, 1))
    for s in range(2, full + 1, 2):
        found, part, r = {(dims[s.bit_length() - 1], 0)} if s & (s - 1) == 0 else set(), (s - 1) & s, width.get(s, 1)
        while part > s - part:
            found |= {(v * w, p + q) for v, p in front[part] for w, q in front[s - part]}
            part = (part - 1) & s
        found.add((r, min(r * w + p for w, p in found)))
        front[s] = [a for a in found if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in found)]
    every = sum(d for d in c["data"]["dims"] if d > 1) if gone else 0  # a product is no less than the sum
    return max(every, min(dims[0] * w + p for w, p in front[full]) + sum(c["data"]["dims"][m] - 1 for m in gone))

try:
    c = json.load(open(sys.argv[1]))
    kind = [k for k, names in enumerate(({"max_rse", "params"}, {"lambda", "loss"})) if names & set(c)]  # an error, or a loss
    number = 0 <= c["max_rse"] < 1 if kind == [0] else kind == [1] and c["lambda"] > 0 and c["loss"] > 0
    version = kind[0] + 1 if "contracted" not in c else 3 if c["template"] == "any-tree" else None
    need((c["format"], c["version"], number, 0 <= c["lost"] < 1) == ("tnsearch-certificate", version, 1, 1), "no certificate")
    x, check = load(c, sys.argv[2]), check_all_trees if c["template"] == "any-tree" else check_tree
    check(c), [check_cut(c, x, cut) for cut in c["cuts"]]
    what = f"a loss phi + {c['lambda']} RSE below {c['loss']}" if "loss" in c else f"an RSE of {c['max_rse']}"
    below = "" if "loss" in c or c["params"] is None else f" below {c['params']} params"
    print(f"PROVEN: with ranks up to {c['max_rank']} {what} is not to be had{below} ({len(c['cuts'])} cuts, {len(c['tree'])} cases)")
except Exception as why:  # whatever it is, nothing is proven
    sys.exit(print(f"NOT PROVEN: {why!r}") or 1)
