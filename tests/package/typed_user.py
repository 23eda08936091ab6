"""A script of a user who checks types: never run, only read by mypy and pyright."""

from pathlib import Path
from typing import Any

import numpy as np

import tnsearch

x = np.ones((4, 4, 4, 4))
found: tnsearch.Result = tnsearch.search(x, max_re=0.01, template="ring", seed=3)
if found.network is not None:
    network: tnsearch.Network = found.network
    dense: np.ndarray[Any, Any] = network.to_dense()
    sizes: list[int] = [core.size for core in network.cores]
    network.save(Path("net.safetensors"))
    subscripts, operands = network.einsum()
    again = np.einsum(subscripts, *operands)
structure = tnsearch.Structure("ring", [0, 1, 2, 3], [[0, 1, 2], [1, 2, 2]])
ranks: list[int] = structure.ranks
rows: list[dict[str, Any]] = found.trials()
compared: tnsearch.Comparison = tnsearch.compare(x, max_re=0.1, methods=["default", "tt-svd"])
best: list[str] = compared.winners
state: tnsearch.Result = tnsearch.search(x, fidelity=0.99, strategy=lambda told: None if told else structure)
lowest: float = tnsearch.bound(x, structure).rse
fitted: tnsearch.Network = tnsearch.fit(x, structure, restarts=2).network
filled = tnsearch.complete(x, missing=0.5).tensor
part = fitted[0, :, 1:3]
placements: int = tnsearch.space("ring", 8).structures
study = tnsearch.Study((4, 4, 4), template="ring", max_params=40)
while (trial := study.ask()) is not None:
    study.tell(trial, float(sum(trial.structure.ranks)))
tensor, hidden = tnsearch.generate(order=4, ranks=(2, 3), seed=1)
pixels: np.ndarray[Any, Any] | None = tnsearch.reconstruct(fitted)
small: tnsearch.CompressedModel = tnsearch.compress_model({"layer": x.reshape(16, 16)}, keep_re=0.1)
weights: tnsearch.Weights | None = tnsearch.decompress_model(small)
process: tnsearch.tgp.Model = tnsearch.tgp.train(x.reshape(64, 4), x.reshape(64, 4)[:, 0], inducing=[4, 4, 4, 4])
means, deviations = process.compress(max_mse_loss=0.1).predict(x.reshape(64, 4))
