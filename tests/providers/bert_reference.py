"""The same BERT in plain numpy float32, to compare with; and small random weights for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spade_llm.providers.local_embedder.graph import Weights

_erf = np.vectorize(math.erf, otypes=[np.float32])


def embedding(weights: Weights, ids: Sequence[int], *, heads: int) -> NDArray[np.float32]:
    """One text's vector: every token, unpadded, mean pooling, L2 norm."""
    table = "embeddings"
    x = weights[f"{table}.word_embeddings.weight"][list(ids)]
    x = x + weights[f"{table}.position_embeddings.weight"][: len(ids)]
    x = _norm(
        weights, x + weights[f"{table}.token_type_embeddings.weight"][0], f"{table}.LayerNorm"
    )
    layer = 0
    while f"encoder.layer.{layer}.output.dense.weight" in weights:
        x = _layer(weights, x, f"encoder.layer.{layer}", heads)
        layer += 1
    mean = x.mean(axis=0)
    vector: NDArray[np.float32] = mean / np.linalg.norm(mean)
    return vector


def _layer(weights: Weights, x: NDArray[np.float32], name: str, heads: int) -> NDArray[np.float32]:
    query, key, value = (
        _heads(_dense(weights, x, f"{name}.attention.self.{part}"), heads)
        for part in ("query", "key", "value")
    )
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    attended = (scores / scores.sum(axis=-1, keepdims=True)) @ value
    joined = attended.transpose(1, 0, 2).reshape(x.shape)
    out = f"{name}.attention.output"
    x = _norm(weights, _dense(weights, joined, f"{out}.dense") + x, f"{out}.LayerNorm")
    wide = _dense(weights, x, f"{name}.intermediate.dense")
    wide = wide * 0.5 * (1 + _erf(wide / math.sqrt(2)))
    out = f"{name}.output"
    return _norm(weights, _dense(weights, wide, f"{out}.dense") + x, f"{out}.LayerNorm")


def _heads(x: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    return x.reshape(len(x), heads, -1).transpose(1, 0, 2)


def _dense(weights: Weights, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    product: NDArray[np.float32] = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return product


def _norm(weights: Weights, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    normed: NDArray[np.float32] = (
        centred / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]
    )
    return normed


def random_weights(*, hidden: int, layers: int, words: int) -> Weights:
    random = np.random.default_rng(7)

    def normal(*shape: int) -> NDArray[np.float32]:
        return random.normal(0, 0.3, shape).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": normal(words, hidden),
        "embeddings.position_embeddings.weight": normal(64, hidden),
        "embeddings.token_type_embeddings.weight": normal(2, hidden),
    }
    norms = ["embeddings.LayerNorm"]
    for number in range(layers):
        name = f"encoder.layer.{number}"
        shapes = {f"attention.self.{part}": (hidden, hidden) for part in ("query", "key", "value")}
        shapes["attention.output.dense"] = (hidden, hidden)
        shapes |= {"intermediate.dense": (4 * hidden, hidden), "output.dense": (hidden, 4 * hidden)}
        for part, shape in shapes.items():
            weights[f"{name}.{part}.weight"] = normal(*shape)
            weights[f"{name}.{part}.bias"] = normal(shape[0])
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
    for norm in norms:
        weights[f"{norm}.weight"], weights[f"{norm}.bias"] = 1 + normal(hidden), normal(hidden)
    return weights
