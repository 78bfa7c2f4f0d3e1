"""Inference session: tokenizer and onnxruntime."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as onnx_errors
from tokenizers import Tokenizer

from spade_llm.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

MAX_TOKENS = 256
"""Maximum number of tokens per text, as in the published model; the rest is truncated."""
MAX_CHARS = 16_384
"""Read per text: 256 tokens are far fewer."""
BATCH_TOKENS = 128
"""Padding included; a longer text is alone. 7 to 17 ms, which a query may have to wait. 1024 are no
faster (short texts 690 and 632 per s, long ones 58 and 54), and take 27 MB more."""
UNREADABLE = (onnx_errors.Fail, onnx_errors.InvalidProtobuf, onnx_errors.InvalidGraph)

Tokens = list[int]


class MiniLmSession:
    """Inference session: the loaded graph and its tokenizer."""

    def __init__(self, *, graph: Path, tokenizer: Path, threads: int) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        # The published tokenizer.json pads and truncates to 128 tokens.
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        try:
            self._session = onnxruntime.InferenceSession(
                str(graph), _options(threads), providers=["CPUExecutionProvider"]
            )
        except UNREADABLE as error:
            raise ConfigurationError(
                f"{str(graph)!r} is damaged; delete it, it will be built anew."
            ) from error

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        encodings = self._tokenizer.encode_batch([text[:MAX_CHARS] for text in texts])
        return [encoding.ids for encoding in encodings]

    def length_batches(self, tokens: Sequence[Tokens]) -> Iterator[list[int]]:
        """Row numbers, the longest texts first, so that little is padded."""
        order = sorted(range(len(tokens)), key=lambda row: -len(tokens[row]))
        while order:
            size = max(1, BATCH_TOKENS // len(tokens[order[0]]))
            yield order[:size]
            del order[:size]

    def vectors(self, tokens: Sequence[Tokens]) -> NDArray[np.float32]:
        shape = (len(tokens), max(map(len, tokens)))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, numbers in enumerate(tokens):
            ids[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        feed = {"input_ids": ids, "attention_mask": mask}
        vectors: NDArray[np.float32] = self._session.run(["embedding"], feed)[0]
        return vectors


def _options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads take the cores from the other agents' processes: 19-36 % slower there.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options
