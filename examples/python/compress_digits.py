"""Compress a small network end to end: train, compress, measure, fine-tune.

A classifier of handwritten digits (scikit-learn's `load_digits`, 1797 pictures of 8 x 8) is trained here in plain NumPy, written as
a safetensors file, and compressed by `tnsearch compress-model` to several sizes, without and with calibration. Beside it
stands what truncated SVDs of each layer do with as many params, shared out in the two usual ways: the same part of every
layer, and the same relative error for every layer. The cores of the smallest models are then trained for some more epochs.

    python compress_digits.py --tnsearch ../../target/debug/tnsearch --out digits

writes digits/digits.svg and digits/digits.json. Needs numpy, safetensors and scikit-learn.
"""

import argparse
import json
import pathlib
import subprocess

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from sklearn.datasets import load_digits


def data(seed):
    """The pictures, 1200 to learn from and 597 to be judged by."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = (x / 16.0).astype("f4")[order], y[order]
    return (x[:1200], y[:1200]), (x[1200:], y[1200:])


# A model is a list of layers; a layer is a list of terms and a bias; a term is an einsum text, the shape of its modes and
# its cores. A dense layer has one term with one core. So one training loop serves them all.


def dense(weights):
    """Dense weights as a model."""
    count = len(weights) // 2
    term = lambda w: ("ab->ab", w.shape, [w.copy()])
    return [([term(weights[f"{k}.weight"])], weights[f"{k}.bias"].copy()) for k in range(count)]


def compact(path):
    """The file that compress-model writes, its cores as they are."""
    with safe_open(path, "numpy") as file:
        manifest = json.loads(file.metadata()["tnsearch_model"])
        found = {}
        for t in manifest["tensors"]:
            if "terms" not in t:
                w = file.get_tensor(t["name"])
                terms = [("ab->ab", w.shape, [w])] if w.ndim == 2 else w
            else:
                terms = [(s["einsum"], s["modes"], [file.get_tensor(c) for c in s["cores"]]) for s in t["terms"]]
            found[t["name"]] = terms
    return [(found[f"{k}.weight"], found[f"{k}.bias"]) for k in range(len(found) // 2)]


def matrix(terms, rows):
    """The dense matrix of a layer."""
    parts = [np.einsum(e, *cores, optimize=len(cores) > 2).reshape(rows, -1) for e, _, cores in terms]
    return sum(parts)


def forward(model, x, inputs=None):
    """The outputs; `inputs` is given what every layer gets."""
    for k, (terms, bias) in enumerate(model):
        if inputs is not None:
            inputs.append(x)
        x = x @ matrix(terms, len(bias)).T + bias
        if k < len(model) - 1:
            x = np.maximum(x, 0)
    return x


def accuracy(model, judged):
    x, y = judged
    return float((forward(model, x).argmax(1) == y).mean())


def gradients(model, x, y):
    """The gradients of the cross entropy, shaped as the model."""
    inputs = []
    out = forward(model, x, inputs)
    p = np.exp(out - out.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    back, grads = p / len(y), []
    for k in reversed(range(len(model))):
        terms, bias = model[k]
        whole = back.T @ inputs[k]
        found = []
        for einsum, modes, cores in terms:
            names, result = einsum.split("->")
            names = names.split(",")
            g = whole.reshape(modes)
            for c in range(len(cores)):
                others = [n for j, n in enumerate(names) if j != c]
                text = ",".join([result, *others]) + "->" + names[c]
                found.append(np.einsum(text, g, *(a for j, a in enumerate(cores) if j != c), optimize=True))
        grads.append((found, back.sum(0)))
        back = (back @ matrix(terms, len(bias))) * (inputs[k] > 0)
    return grads[::-1]


def train(model, taught, epochs, rate, seed):
    """Adam on all cores and biases, in place."""
    x, y = taught
    rng = np.random.default_rng(seed)
    leaves = lambda m: [a for terms, b in m for a in [*(c for t in terms for c in t[2]), b]]
    flat = lambda g: [a for found, b in g for a in [*found, b]]
    first = [np.zeros_like(a) for a in leaves(model)]
    second = [np.zeros_like(a) for a in leaves(model)]
    step = 0
    for epoch in range(epochs):
        for batch in np.array_split(rng.permutation(len(x)), len(x) // 64):
            step += 1
            now = rate * (1 - epoch / epochs)
            for a, g, m, v in zip(leaves(model), flat(gradients(model, x[batch], y[batch])), first, second):
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                a -= now * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    return model


def params(model):
    return int(sum(sum(c.size for t in terms for c in t[2]) + b.size for terms, b in model))


def svd_models(weights, factors, most):
    """Truncated SVDs of each layer with at most `most` params: the same part of each, and the same error of each.

    `factors` are those of the covariances of the inputs, C = L L', or None. A layer that does not gain is left dense.
    """
    count = len(weights) // 2
    matrices = [weights[f"{k}.weight"].astype("f8") for k in range(count)]
    parts = [np.linalg.svd(w if factors is None else w @ factors[k], full_matrices=False) for k, w in enumerate(matrices)]

    def model(ranks):
        layers = []
        for k, (w, rank) in enumerate(zip(matrices, ranks)):
            u, s, vt = parts[k]
            if rank * sum(w.shape) >= w.size:
                term = ("ab->ab", w.shape, [w.astype("f4")])
            else:
                right = s[:rank, None] * vt[:rank]
                if factors is not None:
                    right = np.linalg.solve(factors[k].T, right.T).T
                term = ("aA,bA->ab", w.shape, [u[:, :rank].astype("f4"), right.T.astype("f4")])
            layers.append(([term], weights[f"{k}.bias"].copy()))
        return layers

    def largest(ranks_of, ladder):
        best = None
        for step in ladder:
            made = model(ranks_of(step))
            if params(made) <= most and (best is None or params(made) > params(best)):
                best = made
        return best

    same_part = lambda p: [max(1, int(p * w.size / sum(w.shape))) for w in matrices]

    def same_error(re):
        ranks = []
        for _, s, _ in parts:
            tail = 1 - np.cumsum(s**2) / np.sum(s**2)
            ranks.append(int(np.argmax(tail <= re * re)) + 1)
        return ranks

    return largest(same_part, np.linspace(0.01, 1, 400)), largest(same_error, np.linspace(0.999, 0.001, 400))


def figure(rows, base, path):
    """Accuracy over params, as SVG."""
    width, height, left, top = 760, 420, 70, 40
    xs = sorted({r["params"] for r in rows})
    low, high = np.log(xs[0] * 0.9), np.log(xs[-1] * 1.1)
    sx = lambda p: left + (np.log(p) - low) / (high - low) * (width - left - 200)
    sy = lambda a: top + (1.0 - a) * (height - top - 60)
    series = [
        ("ours", "ours", "#0b6e4f", ""), ("ours, calibrated", "ours_calibrated", "#08519c", ""),
        ("ours, calibrated, tuned", "tuned", "#7b3294", ""),
        ("SVD, same part each", "svd_part", "#b2182b", "6 4"), ("SVD, same error each", "svd_error", "#d6604d", "6 4"),
        ("SVD, same error, calibrated", "svd_error_calibrated", "#f4a582", "6 4"),
    ]  # fmt: skip
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui,sans-serif" font-size="13">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>',
           '<text x="20" y="24" font-size="16" font-weight="700">Digits: accuracy after compression</text>']  # fmt: skip
    for a in (0, 0.25, 0.5, 0.75, 1):
        out.append(f'<line x1="{left}" x2="{width - 200}" y1="{sy(a):.1f}" y2="{sy(a):.1f}" stroke="#ddd"/>'
                   f'<text x="{left - 8}" y="{sy(a) + 4:.1f}" text-anchor="end">{a:g}</text>')  # fmt: skip
    for p in xs:
        out.append(f'<text x="{sx(p):.1f}" y="{height - 38}" text-anchor="middle">{p}</text>')
    out.append(f'<text x="{(left + width - 200) / 2}" y="{height - 14}" text-anchor="middle">params</text>')
    out.append(f'<line x1="{left}" x2="{width - 200}" y1="{sy(base):.1f}" y2="{sy(base):.1f}" stroke="#555" stroke-dasharray="2 3"/>')
    ends = []
    for label, key, colour, dash in series:
        points = [(r["params"], r[key]) for r in rows if r.get(key) is not None]
        line = " ".join(f"{sx(p):.1f},{sy(a):.1f}" for p, a in points)
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}" points="{line}"/>')
        out += [f'<circle cx="{sx(p):.1f}" cy="{sy(a):.1f}" r="3.5" fill="{colour}"><title>{label}: {a:.3f} at {p}</title></circle>'
                for p, a in points]  # fmt: skip
        ends.append((label, colour, dash))
    for k, (label, colour, dash) in enumerate([*ends, (f"uncompressed, {base:.3f}", "#555", "2 3")]):
        y = top + 20 + 22 * k
        out.append(f'<line x1="{width - 190}" x2="{width - 165}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
                   f'<text x="{width - 160}" y="{y + 4}" font-size="11">{label}</text>')  # fmt: skip
    path.write_text("\n".join([*out, "</svg>\n"]))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tnsearch", default="tnsearch", help="the program")
    options.add_argument("--out", type=pathlib.Path, default=pathlib.Path("digits"), help="the folder to write to")
    options.add_argument("--hidden", default="128,64", help="the widths of the hidden layers")
    options.add_argument("--epochs", type=int, default=60)
    options.add_argument("--parts", default="0.1,0.15,0.2,0.25,0.3,0.4", help="sizes to compress to, as parts of the model")
    options.add_argument("--seed", type=int, default=0)
    args = options.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    taught, judged = data(args.seed)

    rng = np.random.default_rng(args.seed)
    sides = [64, *map(int, args.hidden.split(",")), 10]
    weights = {}
    for k, (n, m) in enumerate(zip(sides, sides[1:])):
        weights[f"{k}.weight"] = (rng.normal(size=(m, n)) * np.sqrt(2 / n)).astype("f4")
        weights[f"{k}.bias"] = np.zeros(m, "f4")
    model = train(dense(weights), taught, args.epochs, 2e-3, args.seed)
    for k, (terms, bias) in enumerate(model):
        weights[f"{k}.weight"], weights[f"{k}.bias"] = terms[0][2][0], bias
    save_file(weights, args.out / "model.safetensors")
    base = accuracy(model, judged)

    inputs = []
    forward(model, taught[0], inputs)
    save_file({f"{k}.weight": np.ascontiguousarray(a.astype("f4")) for k, a in enumerate(inputs)}, args.out / "acts.safetensors")
    factors = []
    for a in inputs:
        c = (a.T @ a / len(a)).astype("f8")
        factors.append(np.linalg.cholesky(c + 1e-3 * np.trace(c) / len(c) * np.eye(len(c))))

    def compressed(most, *more):
        small = args.out / "small.safetensors"
        line = [args.tnsearch, "compress-model", args.out / "model.safetensors", "--max-params", most, "-o", small, "--quiet", *more]
        subprocess.run([str(a) for a in line], check=True)
        found = compact(small)
        assert params(found) <= most
        # The dense weights that decompress-model writes are those of the cores.
        subprocess.run([args.tnsearch, "decompress-model", str(small), "-o", str(args.out / "dense.safetensors"), "--quiet"], check=True)
        back = load_file(args.out / "dense.safetensors")
        for k, (terms, bias) in enumerate(found):
            assert np.allclose(matrix(terms, len(bias)), back[f"{k}.weight"], atol=1e-5)
        return found

    rows = []
    print(f"uncompressed: {params(model)} params, accuracy {base:.3f}")
    for part in map(float, args.parts.split(",")):
        most = int(part * params(model))
        ours, calibrated = compressed(most), compressed(most, "--calibration", args.out / "acts.safetensors")
        same_part, same_error = svd_models(weights, None, most)
        _, error_calibrated = svd_models(weights, factors, most)
        part_calibrated, _ = svd_models(weights, factors, most)
        judge = lambda m: None if m is None else accuracy(m, judged)
        row = {"params": most, "ours": judge(ours), "ours_calibrated": judge(calibrated), "svd_part": judge(same_part),
               "svd_error": judge(same_error), "svd_part_calibrated": judge(part_calibrated),
               "svd_error_calibrated": judge(error_calibrated)}  # fmt: skip
        row["tuned"] = judge(train(calibrated, taught, max(1, args.epochs // 6), 1e-3, args.seed))
        rows.append(row)
        text = lambda key: "-" if row[key] is None else f"{row[key]:.3f}"
        print(f"{most:7d} params: ours {text('ours')}, calibrated {text('ours_calibrated')}, tuned {text('tuned')}; "
              f"SVD same part {text('svd_part')} (calibrated {text('svd_part_calibrated')}), "
              f"same error {text('svd_error')} (calibrated {text('svd_error_calibrated')})")  # fmt: skip
    report = {"uncompressed": {"params": params(model), "accuracy": base}, "rows": rows}
    (args.out / "digits.json").write_text(json.dumps(report, indent=1))
    figure(rows, base, args.out / "digits.svg")


if __name__ == "__main__":
    main()
