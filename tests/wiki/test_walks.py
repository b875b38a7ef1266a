"""Walks as readers follow them: every click with what else there was."""

import json
import shutil
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from linkwalk import Wiki
from linkwalk.embed import Embeddings
from linkwalk.errors import InputError
from linkwalk.graph.paths import distances_from
from linkwalk.graph.store import LINK, Graph
from linkwalk.navigate import Episodes, Journeys, unit_rows
from linkwalk.policy.checkpoint import load_compass, read_policy, save_policy
from linkwalk.policy.heads import HeadConfig, build_head
from linkwalk.shipped import policy_path
from linkwalk.wiki import Choice, Click, MoveConfig, Walk
from linkwalk.wiki.agents import with_its_map
from linkwalk.wiki.answers import plain
from linkwalk.wiki.clicks import SHOWN
from tests.graph.conftest import Page, write_graph
from tests.wiki.conftest import HOSTILE

AGENTS = [
    "compass",
    "random",
    "greedy",
    "greedy-unvisited",
    "random-dfs",
    "greedy-dfs",
    "greedy-map",
    "learned-map",
]


@pytest.fixture(scope="module")
def ends(walked: Wiki) -> tuple[int, int]:
    """From the block with the most links to the farthest one."""
    start = int(walked.graph.forward.degrees().argmax())
    return start, int(distances_from(walked.graph.forward, start).argmax())


def check(wiki: Wiki, walk: Walk) -> None:
    """The clicks hang together, go along links, and say what there was."""
    graph = wiki.graph
    places = [walk.start, *(click.to for click in walk.steps)]
    assert [click.at for click in walk.steps] == places[:-1]
    assert [click.number for click in walk.steps] == list(range(1, len(walk.steps) + 1))
    for at, click in enumerate(walk.steps):
        targets = set(graph.forward.row(click.at.node).tolist())
        behind = [choice for choice in click.choices if choice.kind == "back"]
        assert len(behind) <= 1
        assert len(click.choices) + click.others in (len(targets), len(targets) + 1)
        assert bool(behind) <= (walk.ways.back or "dfs" in walk.agent)
        assert len(click.choices) <= SHOWN
        assert {choice.node for choice in click.choices if choice not in behind} <= targets
        if not click.others and click.choices:
            assert sum(choice.probability for choice in click.choices) == pytest.approx(1, abs=1e-5)
        (one,) = (choice for choice in click.choices if choice.taken)
        assert (one.node, one.kind, one.link) == (click.to.node, click.kind, click.link)
        assert (one.score, one.probability) == (click.score, click.probability)
        if walk.measure != "chance" and not walk.ways.sampled:
            assert one is click.choices[0], "the best is taken"
        before = {place.node for place in places[: at + 1]}
        assert all(choice.seen == (choice.node in before) for choice in click.choices)
        shown = [choice.probability for choice in click.choices if not (choice.taken and click.others)]
        assert shown == sorted(shown, reverse=True)
        check_segment(wiki, click)
    if walk.optimum is not None and walk.goal is not None:
        assert walk.distance == len(walk.optimum)
        nodes = [walk.start.node, *(click.to.node for click in walk.optimum)]
        assert nodes[-1] == walk.goal.node
        assert all(b in graph.forward.row(a) for a, b in pairwise(nodes))
        for click in walk.optimum:
            assert (click.choices, click.others, click.score, click.probability) == ((), 0, None, None)
            check_segment(wiki, click)


def check_segment(wiki: Wiki, click: Click) -> None:
    """The segment named is where the link's words are."""
    page = wiki.block(click.at.node)
    if click.kind not in ("link", "entity"):
        assert click.segment is None
        return
    assert click.segment is not None
    assert "".join(s.text for s in page.segments[click.segment :]).startswith(click.link)
    number = page.segments[click.segment].link
    assert number is not None
    assert page.links[number].node == click.to.node or page.links[number].text != click.link


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("back", [False, True])
def test_clicks_of_every_agent(walked: Wiki, ends: tuple[int, int], agent: str, back: bool) -> None:
    walk = walked.walk(*ends, agent=agent, budget=30, ways=MoveConfig(back=back), seed=3)
    check(walked, walk)
    assert (walk.agent, walk.budget, walk.seed, walk.sentence, walk.closest) == (agent, 30, 3, None, None)
    assert walk.success == (walk.steps[-1].to == walk.goal)
    assert walk == walked.walk(*ends, agent=agent, budget=30, ways=MoveConfig(back=back), seed=3)


def test_probabilities_are_the_softmax_of_scores(walked: Wiki, ends: tuple[int, int]) -> None:
    """At the first click there is nothing but the page's links: no costs, nothing seen but the start.

    With the back button, the constants of the map decide alone.
    """
    table, ways = Embeddings.open(walked.folder), MoveConfig(back=True)
    vectors, map_ = (
        unit_rows(table.vectors),
        with_its_map(ways, policy_path(), read_policy(policy_path())).constants,
    )
    direction = load_compass(policy_path(), table.fingerprint).directions(vectors[[ends[1]]])[0]
    for agent, query, measure in (("compass", direction, "worth"), ("greedy", vectors[ends[1]], "cosine")):
        walk = walked.walk(*ends, agent=agent, ways=ways)
        assert walk.measure == measure
        click = walk.steps[0]
        targets = np.unique(walked.graph.forward.row(ends[0]))
        scores = vectors[targets] @ query
        if agent == "compass":
            alike = np.maximum(vectors[targets] @ vectors[ends[0]] - map_.likeness, 0) / (1 - map_.likeness)
            scores = np.where(targets == ends[0], -np.inf, scores - map_.crowding * np.log1p(alike))
        chances = np.exp(map_.temperature * (scores - scores.max()))
        likely = dict(zip(targets.tolist(), chances / chances.sum(), strict=True))
        worth = dict(zip(targets.tolist(), scores, strict=True))
        for choice in click.choices:
            assert choice.probability == pytest.approx(likely[choice.node], abs=1e-4)
            assert choice.score == pytest.approx(worth[choice.node], abs=1e-4)
        assert max(likely, key=lambda node: likely[node]) == click.choices[0].node == click.to.node


def test_chance_counts_links(tmp_path: Path) -> None:
    far = [(f"T{i}", 0, LINK) for i in range(20)]
    pages = {"Hub": [Page("x" * 40, [*far, ("T0", 0, LINK)])]}
    pages |= {f"T{i}": [Page("back again", [("Hub", 0, LINK)])] for i in range(20)}
    write_graph(tmp_path / "wiki", pages)
    wiki = Wiki.open(tmp_path / "wiki")
    assert wiki.agents == ["random", "random-dfs"]
    walk = wiki.walk("Hub", "T19", agent="random", seed=1, budget=200)
    check(wiki, walk)
    for click in walk.steps:
        assert all(choice.score is None for choice in click.choices)
        if click.at.title == "Hub":
            assert (len(click.choices), click.others) == (SHOWN, 20 - SHOWN)
            assert click.choices[0].title == "T0"
            assert [round(21 * c.probability) for c in click.choices] == [2, *[1] * (SHOWN - 1)]
    assert {c.title for click in walk.steps for c in click.choices if c.taken} >= {"T19"}


@pytest.fixture(scope="module")
def trained(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Wiki:
    """A workspace with policies: a residual head, and one for other embeddings."""
    folder = Path(shutil.copytree(world, tmp_path_factory.mktemp("trained") / "wiki"))
    table = Embeddings.open(folder)
    config = HeadConfig(head="residual", width=table.width)
    torch.manual_seed(0)
    for name, encoder in (("own", table.fingerprint), ("other", "x")):
        manifest = {"encoder": encoder, "encoder_name": "minilm"}
        save_policy(folder / "policies" / name, build_head(config), config, manifest)
    return Wiki.open(folder)


@pytest.mark.parametrize("back", [False, True])
def test_a_learned_policy_says_what_its_head_says(trained: Wiki, ends: tuple[int, int], back: bool) -> None:
    assert trained.agents == ["compass", "own", *AGENTS[1:]]
    walk = trained.walk(*ends, agent="own", budget=25, ways=MoveConfig(back=back))
    check(trained, walk)
    assert walk.measure == "log-probability"
    assert all(click.score is None or click.score <= 0 for click in walk.steps)


@pytest.mark.parametrize("agent", ["random", "greedy", "own"])
def test_pages_are_weighed_in_pieces(
    trained: Wiki, ends: tuple[int, int], agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = trained.walk(*ends, agent=agent, budget=20, seed=4)
    assert len(whole.steps) > 7
    monkeypatch.setattr("linkwalk.wiki.clicks._AT_ONCE", 7)
    assert trained.walk(*ends, agent=agent, budget=20, seed=4) == whole


def test_towards_a_sentence(walked: Wiki, ends: tuple[int, int]) -> None:
    words = " ".join(walked.graph.texts[ends[1]].split()[:10])
    walk = walked.walk(ends[0], sentence=words, agent="greedy-unvisited")
    check(walked, walk)
    assert (walk.goal, walk.success, walk.distance, walk.optimum) == (None, None, None, None)
    assert (walk.sentence, walk.budget, len(walk.steps)) == (words, 20, 20)
    assert walk.closest is not None
    places = [walk.start, *(click.to for click in walk.steps)]
    assert walk.closest.place == places[walk.closest.step]


def test_json_is_the_fields(walked: Wiki, ends: tuple[int, int]) -> None:
    walk = walked.walk(*ends, agent="greedy-unvisited")
    value = json.loads(json.dumps(plain(walk)))
    assert list(value) == [field.name for field in fields(Walk)]
    click = value["steps"][0]
    assert list(click) == [field.name for field in fields(Click)]
    assert list(click["choices"][0]) == [field.name for field in fields(Choice)]
    assert click["to"] == {
        "node": walk.steps[0].to.node,
        "title": walk.steps[0].to.title,
        "block": walk.steps[0].to.block,
        "blocks": walk.steps[0].to.blocks,
        "section": walk.steps[0].to.section,
        "name": walk.steps[0].to.name,
        "address": "",
    }
    sentence = walk.steps[0].sentence
    assert click["sentence"] == (sentence and vars(sentence))


class Homesick:
    """An agent of one's own that says nothing: always the first link."""

    name = "homesick"

    def run(self, episodes: Episodes, *, budget: int = 100, seed: int = 0) -> Journeys:
        journeys = Journeys.blank(episodes.size, budget)
        journeys.nodes[:, 0] = episodes.starts
        for step in range(budget):
            journeys.nodes[0, step + 1] = self.graph.forward.row(int(journeys.nodes[0, step]))[0]
            journeys.choices[0, step], journeys.steps[0] = 0, step + 1
        return journeys

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


def test_an_object_walks(walked: Wiki, ends: tuple[int, int]) -> None:
    agent = Homesick(walked.graph)
    walk = walked.walk(*ends, agent=agent, budget=5)
    assert (walk.agent, len(walk.steps), walk.measure) == ("homesick", 5, None)
    assert all(click.choices == () and click.probability is None for click in walk.steps)
    walks = walked.compare(*ends, ["random", agent], budget=5)
    assert [one.agent for one in walks] == ["random", "homesick"]
    assert walks[1] == walk


def test_a_policy_that_was_just_trained_is_listed(trained: Wiki, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(trained.folder, tmp_path / "wiki"))
    wiki = Wiki.open(folder)
    assert "late" not in wiki.agents
    shutil.copytree(folder / "policies" / "own", folder / "policies" / "late")
    assert "late" in wiki.agents


def test_several_agents_side_by_side(walked: Wiki, ends: tuple[int, int]) -> None:
    walks = walked.compare(*ends, ["compass", "random", "compass"], budget=40, seed=2)
    assert [walk.agent for walk in walks] == ["compass", "random"]
    assert walks[1] == walked.walk(*ends, agent="random", budget=40, seed=2)
    with pytest.raises(InputError, match="name one or more"):
        walked.compare(*ends, [])


def test_hostile_titles_walk_as_they_are(hostile: Wiki) -> None:
    walk = hostile.walk(HOSTILE[1], HOSTILE[4], agent="random-dfs", seed=1)
    check(hostile, walk)
    assert walk.success
    assert walk.goal is not None
    assert json.loads(json.dumps(plain(walk)))["goal"]["title"] == HOSTILE[4]


def test_one_is_there_already(known: Wiki) -> None:
    walk = known.walk("Star", "Star", agent="random")
    assert (walk.success, walk.distance, walk.steps, walk.optimum) == (True, 0, (), ())


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"goal": "Iron", "agent": "clever"}, "no agent named 'clever'"),
        ({"goal": "Iron", "agent": "random,random-dfs"}, "one agent walks at a time"),
        ({"goal": "Irn", "agent": "random"}, "did you mean 'Iron'"),
        ({"goal": 10**9, "agent": "random"}, "no block 1000000000: the blocks of .* are 0 to"),
        ({"goal": -1, "agent": "random"}, "no block -1"),
        ({"goal": "\ud800", "agent": "random"}, "lone surrogate"),
        ({"agent": "random"}, "a block or a sentence"),
        ({"goal": "Iron", "sentence": "x", "agent": "random"}, "a block or a sentence"),
        ({"goal": "Iron", "agent": "random", "budget": 0}, "budget=0"),
        ({"goal": "Iron", "agent": "random", "seed": -1}, "seed=-1"),
        ({"goal": "Iron", "agent": "random", "seed": 2**63}, "from 0 to 9223372036854775807"),
        ({"goal": "Iron", "agent": "random", "ways": MoveConfig(sampled=True)}, "sampled changes nothing"),
        ({"sentence": " \n", "agent": "random"}, "the sentence is empty"),
    ],
)
def test_what_cannot_be_walked(known: Wiki, asked: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        known.walk("Star", **asked)  # type: ignore[arg-type]
