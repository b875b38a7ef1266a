"""Links scored by their own words: one pass of the transformer over a block scores all of its links (app. B.1).

An action is the mean of the transformed tokens of its anchor, a state that of all tokens, both through tanh. A link
that has no tokens has a learned vector, one for each type. The goal is read by phi itself or by phi_target, a copy that
learns for itself. On top is a head: ``feedforward`` (sec. 4.2), ``mlp`` (app. B.1) or ``compass`` (ours).

Shapes: B texts of a batch, T tokens of them all, L tokens padded, D width, S decisions, A actions, E links of a graph.
"""

import copy
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from linkwalk.arrays import Int32s, Int64s, Integers
from linkwalk.artifact import parsing, read_json, write_json
from linkwalk.compiled import OUTSIDE, guarded, row_of
from linkwalk.embed.block_tokens import BlockTokens, TokenBatch
from linkwalk.embed.packed import Packed, PackedBert, is_packable
from linkwalk.embed.tokens import by_length
from linkwalk.embed.transformer import merge, open_transformer, silence
from linkwalk.graph.csr import Csr, owners
from linkwalk.graph.store import TYPES, Graph
from linkwalk.policy.decisions import Decisions
from linkwalk.policy.heads import HeadConfig, NodeTable, build_head, traits_of
from linkwalk.policy.low_rank import adapt, adapter_of

TARGET, HEAD = "target", "head"
WEIGHTS, CONFIG = "weights.safetensors", "config.json"


class DecisionTokens(NamedTuple):
    """What a model is shown of S decisions: blocks and goals as tokens, and where the links stand."""

    blocks: TokenBatch
    """The blocks that are stood on [B]."""
    place: Int64s
    """Which of them a decision is at [S]."""
    goals: TokenBatch
    """What is shown of the goals."""
    aim: Int64s
    """Which of them a decision is towards [S]."""
    spans: Integers
    """From which to before which token of its block an action stands [A, 2]."""


def show(
    decisions: Decisions,
    forward: Csr,
    blocks: BlockTokens,
    goals: TokenBatch | None = None,
    aim: Int64s | None = None,
) -> DecisionTokens:
    """The tokens of some decisions; ``goals`` stand for the goals' own blocks, ``aim`` [S] says which is whose."""
    current, place = np.unique(decisions.current, return_inverse=True)
    if goals is None or aim is None:
        own, aim = np.unique(decisions.goal, return_inverse=True)
        goals = blocks.batch(own)
    edges = np.empty(len(decisions.target), np.int64)
    _find_edges(*forward, decisions.current, decisions.indptr, decisions.target, edges)
    return DecisionTokens(blocks.batch(current), place, goals, aim, blocks.spans[edges])


@guarded
def _find_edges(
    indptr: Int64s, indices: Int32s, current: Int32s, bounds: Int64s, target: Int32s, edges: Int64s
) -> None:
    """Which link of the graph each action is [A]; actions stand in the order of their node's row."""
    for s in range(current.shape[0]):
        edge, end = row_of(indptr, current[s], indices.shape[0])
        first, last = row_of(bounds, s, target.shape[0])
        for action in range(first, last):
            while edge < end and indices[edge] != target[action]:
                edge += 1
            if edge == end:
                raise IndexError(OUTSIDE)
            edges[action] = edge
            edge += 1


class SpanModel(nn.Module):
    """phi, phi_target and a head, trainable together."""

    def __init__(
        self, model: nn.Module, head: HeadConfig, *, rank: int = 0, own_target: bool = True, tanh: bool = True
    ) -> None:
        """``rank``: of an adapter of phi, and of phi_target; 0: all weights are trained."""
        super().__init__()
        self.tanh, self.rank = tanh, rank
        self.phi = adapt(model, rank) if rank else model
        self.target = copy.deepcopy(self.phi) if own_target else None
        self.kinds = nn.Parameter(torch.randn(len(TYPES), head.width) / head.width**0.5)
        self.head = build_head(head)
        self.head_config = head

    def bound(self, x: Tensor) -> Tensor:
        """The paper's tanh, if wanted."""
        return x.tanh() if self.tanh else x

    def states(self, model: Any, texts: TokenBatch) -> tuple[Tensor, Tensor]:
        """All token vectors [T, D], end to end, and their means [B, D]."""
        device = self.kinds.device
        counts = np.diff(texts.bounds)
        if is_packable(model):
            dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
            ids, bounds = (torch.as_tensor(x, device=device) for x in texts)
            states = PackedBert(model, dtype).states(Packed(ids, bounds.int(), int(counts.max()))).float()
        else:
            ids_BL, mask_BL = (torch.as_tensor(x, device=device) for x in texts.padded(0))
            with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
                found = model(input_ids=ids_BL, attention_mask=mask_BL.long()).last_hidden_state
            states = found[mask_BL].float()
        return states, self.bound(_means(states, counts))

    def actions(self, states: Tensor, begin: Int64s, spans: Integers, kind: Tensor) -> Tensor:
        """Vectors of links [A, D]: ``begin`` [A] says where the text of each begins among the tokens."""
        device = states.device
        first, last = spans.astype(np.int64).T
        counts: Int64s = last - first
        stands = np.flatnonzero(counts)
        counts, begin = counts[stands], (begin + first)[stands]
        before = np.cumsum(counts) - counts
        which = np.arange(int(counts.sum())) + np.repeat(begin - before, counts)
        means = _means(states.index_select(0, torch.as_tensor(which, device=device)), counts)
        every = self.bound(torch.cat((self.kinds, means)))
        at = kind.long().clone()
        at[torch.as_tensor(stands, device=device)] = len(TYPES) + torch.arange(len(stands), device=device)
        return every.index_select(0, at)

    def forward(self, decisions: Decisions, shown: DecisionTokens) -> tuple[Tensor, Tensor]:
        """Every action's logit [A], and whose it is [A]."""
        device = self.kinds.device
        tokens, current = self.states(self.phi, shown.blocks)
        _, goal = self.states(self.phi if self.target is None else self.target, shown.goals)
        of = owners(decisions.indptr)
        kind, owner, place, aim = (
            torch.as_tensor(x, device=device) for x in (decisions.kind, of, shown.place, shown.aim)
        )
        action = self.actions(tokens, shown.blocks.bounds[shown.place][of], shown.spans, kind)
        logits: Tensor = self.head(
            current.index_select(0, place),
            goal.index_select(0, aim),
            action,
            traits_of(decisions, device),
            owner,
        )
        return logits, owner

    @torch.inference_mode()
    def table(
        self, graph: Graph, blocks: BlockTokens, batch_tokens: int, advance: Callable[[float], None]
    ) -> "SpanTable":
        """All states and all links of a graph, to walk by: as much memory as its links have vectors, in halves."""
        device, width = self.kinds.device, self.kinds.shape[1]
        vectors = torch.empty(graph.nodes, width, dtype=torch.float16, device=device)
        goals = vectors if self.target is None else torch.empty_like(vectors)
        actions = torch.empty(graph.edges, width, dtype=torch.float16, device=device)
        indptr, kinds = np.array(graph.out_indptr), np.asarray(graph.out_kinds)
        types = np.where(kinds < len(TYPES), kinds, TYPES.index("link"))
        for nodes in by_length(np.diff(blocks.bounds).tolist(), batch_tokens):
            texts, there = blocks.batch(nodes), torch.as_tensor(nodes, device=device)
            tokens, state = self.states(self.phi, texts)
            if self.target is not None:
                goals[there] = self.states(self.target, texts)[1].half()
            counts = indptr[nodes + 1] - indptr[nodes]
            row = np.repeat(np.arange(len(nodes)), counts)
            edges = np.arange(len(row)) + (indptr[nodes] - (np.cumsum(counts) - counts))[row]
            kind = torch.as_tensor(types[edges], device=device)
            found = self.actions(tokens, texts.bounds[row], blocks.spans[edges], kind)
            vectors[there] = state.half()
            actions[torch.as_tensor(edges, device=device)] = found.half()
            advance(len(nodes))
        return SpanTable(vectors, goals, actions, indptr)

    def save(self, folder: Path, tokenizer: Any) -> None:
        """Write phi as an encoder that embeds any wiki, and below it phi_target and the head."""
        from safetensors.torch import save_file

        for part, model in (("", self.phi), (TARGET, self.target)):
            if model is not None:
                with silence():
                    merged(model).save_pretrained(folder / part, safe_serialization=True)
                    tokenizer.save_pretrained(folder / part)
        weights = {f"head.{name}": value for name, value in self.head.state_dict().items()}
        weights["kinds"] = self.kinds
        (folder / HEAD).mkdir(parents=True)
        save_file({n: v.detach().cpu().contiguous() for n, v in weights.items()}, folder / HEAD / WEIGHTS)
        write_json(folder / HEAD / CONFIG, {"head": asdict(self.head_config), "tanh": self.tanh})

    @classmethod
    def open(cls, folder: Path, device: str = "cpu") -> "tuple[SpanModel, Any]":
        """What ``save`` wrote, and its tokenizer."""
        from safetensors.torch import load_file

        remedy = f"train the encoder in {folder} again"
        there = read_json(folder / HEAD / CONFIG, remedy, {"head": dict, "tanh": bool})
        phi = open_transformer(str(folder), device="cpu")
        own_target = (folder / TARGET).is_dir()
        with parsing(folder / HEAD, remedy):
            model = cls(phi.model, HeadConfig(**there["head"]), own_target=False, tanh=there["tanh"])
            model.load_state_dict(load_file(folder / HEAD / WEIGHTS), strict=False)
        if own_target:
            model.target = open_transformer(str(folder / TARGET), device="cpu").model
        return model.to(device).eval(), phi.tokenizer


def _means(rows: Tensor, counts: Int64s) -> Tensor:
    """The mean of so many rows each [n, D], one after the other."""
    owner = torch.as_tensor(np.repeat(np.arange(len(counts)), counts), device=rows.device)
    total = rows.new_zeros(len(counts), rows.shape[1]).index_add(0, owner, rows)
    return total / torch.as_tensor(counts, device=rows.device).clamp(min=1)[:, None]


def merged(model: nn.Module) -> Any:
    """A transformer as it is, or, of an adapted one, a copy with the changes in its weights."""
    if not (adapter := adapter_of(model)):
        return model
    plain = copy.deepcopy(model)
    for name, module in list(plain.named_modules()):
        if f"{name}.up" in adapter:
            parent, _, own = name.rpartition(".")
            setattr(plain.get_submodule(parent), own, module.layer)
    merge(plain, {name: value.float().cpu().numpy() for name, value in adapter.items()})
    return plain


class SpanTable(NodeTable):
    """States, goals and links of a graph as a span model sees them; a policy is shown whole rows of links."""

    def __init__(self, vectors: Tensor, goals: Tensor, actions: Tensor, indptr: Int64s) -> None:
        super().__init__(vectors)
        self.goals, self.actions, self.indptr = goals, actions, indptr

    def goal_rows(self, decisions: Decisions) -> Tensor:
        """The goals as phi_target sees them."""
        found: Tensor = self.goals[torch.as_tensor(decisions.goal, device=self.goals.device).long()]
        return found.float()

    def action_rows(self, decisions: Decisions) -> Tensor:
        """The links by their own words: a decision has its node's whole row of them."""
        indptr = decisions.indptr
        edges = (
            np.arange(len(decisions.target)) + (self.indptr[decisions.current] - indptr[:-1])[owners(indptr)]
        )
        found: Tensor = self.actions[torch.as_tensor(edges, device=self.actions.device)]
        return found.float()
