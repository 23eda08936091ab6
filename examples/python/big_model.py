"""Make a large model file to try `tnsearch compress-model` on: layers of a transformer with spectra that fall as a power.

    python big_model.py big.safetensors --gigabytes 1

Written in a stream: it needs little more memory than one layer.
"""

import argparse
import json

import numpy as np


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("output")
    options.add_argument("--gigabytes", type=float, default=1.0)
    options.add_argument("--width", type=int, default=2048)
    args = options.parse_args()
    n = args.width
    shapes, bytes_ = [("embed.weight", (8 * n, n))], 32 * n * n
    block = 0
    while bytes_ < args.gigabytes * 1e9:
        for name, shape in [("attention", (n, n)), ("up", (4 * n, n)), ("down", (n, 4 * n))]:
            shapes.append((f"blocks.{block}.{name}.weight", shape))
            shapes.append((f"blocks.{block}.{name}.bias", (shape[0],)))
        bytes_ += 4 * 9 * n * n
        block += 1
    header, at = {}, 0
    for name, shape in shapes:
        size = 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    rng = np.random.default_rng(0)
    with open(args.output, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, shape in shapes:
            w = rng.normal(size=shape).astype("f4") * np.float32(0.01)
            if len(shape) == 2:
                rank = 64
                fall = (1 / np.arange(1, rank + 1)).astype("f4")
                u, v = rng.normal(size=(shape[0], rank)).astype("f4"), rng.normal(size=(rank, shape[1])).astype("f4")
                w += (u * fall) @ v * np.float32(0.05)
            w.tofile(file)


if __name__ == "__main__":
    main()
