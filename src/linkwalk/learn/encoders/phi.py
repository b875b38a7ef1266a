"""phi in training: an encoder of blocks whose weights follow the gradient (sec. 4.2, app. B.1).

What is trained gives vectors of some blocks of some wikis, with their gradient, and whole tables without: the walkers
that make the lessons go by these. ``BertPhi`` is a transformer, whole or by a low-rank adapter.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from linkwalk.arrays import Float32s, Integers
from linkwalk.embed.packed import Packed, PackedBert, TokenRows
from linkwalk.embed.text import node_texts
from linkwalk.embed.transformer import linear_layers
from linkwalk.graph.csr import bounds_of
from linkwalk.graph.store import Graph
from linkwalk.policy.low_rank import adapt, adapter_of

_READ = 4096
"""Blocks that are tokenised at a time."""


def tokenised(graph: Graph, encoder: Any) -> list[list[int]]:
    """The tokens of a wiki's blocks, as an encoder reads them."""
    found: list[list[int]] = []
    for start in range(0, graph.nodes, _READ):
        found += encoder.tokenize(node_texts(graph, start, min(start + _READ, graph.nodes)))
    return found


class BertPhi:
    """A transformer of BERT's kind: whole, or with changes of low rank where ``rank`` is not 0.

    Whole means all matrices of its layers, nearly all there is to learn; the vectors of words stay, which a few minutes
    of training would move for the words it happens to meet alone. Either way, what is trained is an adapter: matrices
    to be added to an encoder that everybody has.
    """

    def __init__(
        self,
        model: Any,
        rows: Sequence[TokenRows],
        *,
        rank: int = 0,
        dtype: torch.dtype = torch.float32,
        batch_tokens: int = 1 << 18,
    ) -> None:
        self.first: dict[str, Tensor] = {}
        """The trained matrices as they were."""
        if rank:
            adapt(model, rank)
        else:
            model.requires_grad_(False)
            for name, layer in linear_layers(model).items():
                layer.weight.requires_grad_(True)
                self.first[name] = layer.weight.detach().cpu().clone()
        self.bert, self.rank, self.batch_tokens = PackedBert(model, dtype), rank, batch_tokens
        self.width, self.rows = self.bert.width, _joined(rows)
        self.begins = bounds_of([len(row) for row in rows])
        self.tokens = 0
        """How many have been read with their gradient."""

    def vectors(self, blocks: Sequence[tuple[int, Integers]], sentences: list[list[int]]) -> Tensor:
        """Of blocks, given as wiki and nodes, and of tokenised sentences behind them [n, D], with their gradient."""
        nodes = np.concatenate([self.begins[ground] + own.astype(np.int64) for ground, own in blocks])
        texts = self.rows.take(nodes)
        if sentences:
            more = TokenRows.of(sentences, self.rows.ids.device)
            texts = Packed(
                torch.cat((texts.ids, more.ids)),
                torch.cat((texts.bounds, (texts.bounds[-1] + more.bounds[1:]).int())),
                max(texts.longest, max(map(len, sentences))),
            )
        self.tokens += len(texts.ids)
        found: Tensor = self.bert(texts)
        return found

    @torch.no_grad()
    def table(self, ground: int, advance: Callable[[float], None] = lambda _: None) -> Float32s:
        """Of all blocks of a wiki [N, D], of unit length."""
        nodes = np.arange(self.begins[ground], self.begins[ground + 1])
        found = np.empty((len(nodes), self.width), np.float32)
        done = 0
        # Packed, so that lengths need no sorting.
        ends = np.cumsum(self.rows.lengths(nodes))
        while done < len(nodes):
            before = int(ends[done - 1]) if done else 0
            stop = max(done + 1, int(np.searchsorted(ends, before + self.batch_tokens, side="right")))
            vectors = self.bert(self.rows.take(nodes[done:stop]))
            found[done:stop] = normalize(vectors, dim=-1).cpu().numpy()
            advance(stop - done)
            done = stop
        return found

    def parameters(self) -> list[nn.Parameter]:
        """What follows the gradient."""
        return [weight for weight in self.bert.parameters() if weight.requires_grad]

    def weights(self) -> dict[str, Tensor]:
        """What is saved: the adapter, or the trained weights."""
        if self.rank:
            return adapter_of(self.bert.model)
        return {name: w.detach() for name, w in self.bert.model.named_parameters() if w.requires_grad}

    def changes(self) -> dict[str, Float32s]:
        """What training has added to each layer's matrix so far."""
        if self.rank:
            found = self.weights()
            layers = sorted({name.rpartition(".")[0] for name in found})
            return {name: (found[f"{name}.up"] @ found[f"{name}.down"]).cpu().numpy() for name in layers}
        now = linear_layers(self.bert.model)
        return {name: (now[name].weight.detach().cpu() - first).numpy() for name, first in self.first.items()}


def _joined(rows: Sequence[TokenRows]) -> TokenRows:
    """The texts of several wikis as one."""
    begins = bounds_of([len(row.ids) for row in rows]).tolist()
    bounds = [row.bounds[:-1] + begin for row, begin in zip(rows, begins, strict=False)]
    return TokenRows(
        torch.cat([row.ids for row in rows]), torch.cat([*bounds, bounds[0].new_tensor(begins[-1:])])
    )
