"""An encoder and its compass, trained on the wikis of some workspaces, as a policy that brings its encoder along.

Everything that the training of ``joint`` needs is read from the graphs; what comes of it is one folder: the compass
(``policy.checkpoint``), what was added to the encoder (``embed.encoder_change``) and what turns sentences
(``policy.target``). Any wiki can be embedded with the folder, and its policy walks there.
"""

import copy
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from numpy.random import Generator

from linkwalk.arrays import Int32s
from linkwalk.embed.encoder_change import EncoderChange, leading, save_change
from linkwalk.embed.job import EmbedConfig, transformer_fingerprint
from linkwalk.embed.model import MINILM, find_model
from linkwalk.embed.packed import TokenRows
from linkwalk.embed.text import goal_sentences
from linkwalk.embed.transformer import TransformerEncoder, open_transformer
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.learn.encoders.joint import Joint, JointConfig
from linkwalk.learn.encoders.lessons import DrawSentences, Ground
from linkwalk.learn.encoders.phi import BertPhi, tokenised
from linkwalk.learn.loop import RunOptions, seeded, train
from linkwalk.learn.ranks import Ranks, ranks
from linkwalk.policy.checkpoint import save_policy
from linkwalk.policy.decisions import Bools
from linkwalk.policy.heads import HeadConfig
from linkwalk.policy.low_rank import save_target
from linkwalk.policy.target import TURN, AdapterConfig
from linkwalk.progress import Progress

_GPU = {"dtype": torch.bfloat16, "batch_tokens": 1 << 18}
_CPU = {"dtype": torch.float32, "batch_tokens": 1 << 12}


def train_on_wikis(
    graphs: Sequence[Graph],
    base: str,
    config: JointConfig,
    *,
    withheld: Sequence[Bools | None] | None = None,
    device: str = "cpu",
    **run: Unpack[RunOptions],
) -> Joint[JointConfig]:
    """Train an encoder that begins as ``base``; ``withheld`` [N] of each wiki are never goals."""
    team = ranks()
    if find_model(base).change is not None:
        raise InputError(f"{base} has been trained already: begin with what it was trained from, {MINILM}")
    encoder = open_transformer(base, device=device)
    encoder.model.float()
    with seeded(config.seed, device):
        rows = [TokenRows.of(tokenised(graph, encoder), device) for graph in graphs]
        settings: dict[str, Any] = _CPU if device == "cpu" else _GPU
        phi = BertPhi(encoder.model, rows, rank=config.rank, **settings)
        progress = run.get("progress") or Progress(quiet=True)
        with progress.stage("read", sum(graph.nodes for graph in graphs), "blocks") as stage:
            grounds = [
                Ground(
                    graph.forward,
                    graph.reverse,
                    graph.out_kinds,
                    phi.table(number, stage.advance),
                    config.lesson,
                    withheld=None if withheld is None else withheld[number],
                    sentences=sentences_of(graph, encoder),
                )
                for number, graph in enumerate(graphs)
            ]
        joint = Joint(_share(config, team), phi, grounds, torch.device(device))
        try:
            train(joint, **run)
        finally:
            joint.teacher.close()
    joint.config = config
    return joint


def _share(config: JointConfig, team: Ranks) -> JointConfig:
    """What one of several processes does of each update; lessons that are drawn ahead it draws by a seed of its own."""
    if config.lessons % team.count:
        raise InputError(
            f"lessons={config.lessons}: choose a multiple of {team.count}, for as many processes"
        )
    own = np.random.SeedSequence((config.seed, team.number)).generate_state(1)[0]
    seed = config.seed if team.first or not config.ahead else int(own)
    return replace(config, lessons=config.lessons // team.count, seed=seed)


def sentences_of(graph: Graph, encoder: TransformerEncoder) -> DrawSentences:
    """Draws one sentence of each of some blocks."""

    def draw(nodes: Int32s, rng: Generator) -> list[list[int]]:
        there = [goal_sentences(graph, node) for node in nodes.tolist()]
        return encoder.tokenize([own[rng.integers(len(own))] for own in there])

    return draw


def save_joint(
    folder: Path, joint: Joint[JointConfig], base: str, manifest: dict[str, Any], *, name: str | None = None
) -> dict[str, Any]:
    """Put what was trained into a policy's folder, as far as it is trusted; ``name`` is what the encoder is called."""
    assert isinstance(joint.phi, BertPhi), "a word table is saved with its embeddings"
    config, model, changes = joint.config, find_model(base), joint.phi.changes()
    about, called = {"config": asdict(config)}, name or str(folder)
    weights, reader = {}, {TURN: config.trust * joint.reader.weight.detach()}
    for layer, change in changes.items():
        weights[f"{layer}.up"], weights[f"{layer}.down"] = leading(config.trust * change, config.kept_rank)
        # Sentences are read as blocks are, and turned.
        reader[f"{layer}.up"], reader[f"{layer}.down"] = (
            torch.zeros(len(change), 0),
            torch.zeros(0, change.shape[1]),
        )
    save_change(folder, EncoderChange(base, model.fingerprint, weights), about)
    encoder = transformer_fingerprint(EmbedConfig(encoder=str(folder)))
    named = {"encoder_name": called, **about}
    save_target(folder, reader, AdapterConfig(rank=0, turn=True), encoder, named)
    head = HeadConfig(head="compass", width=joint.phi.width, temperature=config.temperature)
    compass = copy.deepcopy(joint.compass)
    with torch.no_grad():
        for weight in compass.turn.parameters():
            weight.mul_(config.trust)
    told = {"recipe": "wikis", "encoder": encoder, "map": asdict(config.map), **named, **manifest}
    return save_policy(folder, compass.half(), head, told)
