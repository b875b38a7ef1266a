"""Which embeddings are looked at, who walks and who ranks, where nobody says."""

import os
import shutil
from pathlib import Path

import pytest

from linkwalk import Wiki
from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.embed.store import choose
from linkwalk.errors import ArtifactError
from linkwalk.graph.store import LINK, Graph
from linkwalk.navigate import MapConfig, MoveConfig
from linkwalk.policy.checkpoint import save_policy
from linkwalk.policy.heads import HeadConfig, build_head
from linkwalk.retrieve import index
from linkwalk.wiki.agents import with_its_map
from linkwalk.wiki.workspace import Workspace
from tests.graph.conftest import Page, write_graph

PAGES = {
    "Iron": [Page("Iron is a metal, and the core of stars.", [("Star", 0, LINK), ("Ore", 0, LINK)])],
    "Ore": [Page("Ore is dug from mines by miners.", [("Iron", 0, LINK)])],
    "Star": [Page("Stars shine for they are hot.", [("Sun", 0, LINK), ("Iron", 0, LINK)])],
    "Sun": [Page("The Sun is the star of our planets.", [("Star", 0, LINK)])],
}


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return write_graph(tmp_path, PAGES)


def made(workspace: Path, name: str, encoder: str = "words", seed: int = 0, age: int = 0) -> Embeddings:
    """Embeddings that look as if they had been made that many seconds ago."""
    embed(workspace, EmbedConfig(encoder=encoder, seed=seed, width=8), name=name)
    path = workspace / "embeddings" / name / "manifest.json"
    os.utime(path, (path.stat().st_mtime - age,) * 2)
    return Embeddings.open(workspace, name)


def policy(workspace: Path, name: str, table: Embeddings, head: str = "compass") -> None:
    config = HeadConfig(head=head, width=table.width)
    save_policy(workspace / "policies" / name, build_head(config), config, {"encoder": table.fingerprint})


def test_in_which_order_embeddings_are_taken(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"no embeddings in .*: run `linkwalk embed .*` first"):
        choose(tmp_path, graph)
    made(tmp_path, "chance", "random")
    assert choose(tmp_path, graph) == "chance"
    made(tmp_path, "old", age=1000)
    made(tmp_path, "new", seed=1)
    assert choose(tmp_path, graph) == "new"
    shutil.copytree(tmp_path / "embeddings" / "old", tmp_path / "embeddings" / "minilm")
    assert choose(tmp_path, graph) == "minilm"
    shutil.copytree(tmp_path / "embeddings" / "old", tmp_path / "embeddings" / "minilm-walks")
    assert choose(tmp_path, graph) == "minilm-walks"
    fits = [Embeddings.open(tmp_path, "new").fingerprint]
    assert choose(tmp_path, graph, fits=fits) == "new"
    assert choose(tmp_path, graph, "old", fits) == "old"
    assert Embeddings.open(tmp_path).name == "minilm-walks"


def test_those_of_another_graph_come_last(graph: Graph, tmp_path: Path) -> None:
    made(tmp_path, "minilm")
    other = write_graph(tmp_path, PAGES | {"New": [Page("Since then.", [("Iron", 0, LINK)])]})
    assert choose(tmp_path, other) == "minilm"
    made(tmp_path, "chance", "random")
    assert choose(tmp_path, other) == "chance"


def test_a_policy_looks_at_what_it_was_trained_on(graph: Graph, tmp_path: Path) -> None:
    mine = made(tmp_path, "mine")
    made(tmp_path, "newer", seed=1)
    os.utime(tmp_path / "embeddings" / "mine" / "manifest.json", (1, 1))
    policy(tmp_path, "trained", mine)
    assert Workspace(tmp_path, graph).table("greedy").name == "newer"
    assert Workspace(tmp_path, graph).table("greedy", "trained").name == "mine"
    assert Workspace(tmp_path, graph, "newer").table("trained").name == "newer"
    wiki = Wiki.open(tmp_path)
    assert wiki.table().name == "newer"
    assert wiki.walk("Ore", "Sun", agent="trained").agent == "trained"
    assert wiki.walk("Ore", "Sun").agent == "greedy-map"


def test_who_walks_unasked(graph: Graph, tmp_path: Path) -> None:
    table = made(tmp_path, "mine")
    wiki = Wiki.open(tmp_path)
    assert wiki.usual == wiki.agents[0] == "greedy-map"
    assert "compass" not in wiki.agents
    policy(tmp_path, "trained", table)
    assert wiki.usual == wiki.agents[0] == "trained"
    assert len(wiki.agents) == len(set(wiki.agents))
    assert wiki.walk("Ore", "Sun").agent == "trained"


def test_who_answers_unasked(graph: Graph, tmp_path: Path) -> None:
    table = made(tmp_path, "mine")
    index(tmp_path, graph)
    wiki = Wiki.open(tmp_path)
    answer = wiki.find("What do miners dig?")
    assert (answer.agent, answer.rerank, wiki.ranks) == ("greedy-map", "tfidf", "tfidf")
    assert answer.evidence[0].place.title == "Ore"
    policy(tmp_path, "trained", table)
    policy(tmp_path, "a-head", table, head="residual")  # walks, but does not say where to look
    assert wiki.usual == "a-head"
    assert wiki.find("What do miners dig?").agent == "trained"


def test_without_embeddings_the_command_is_told(graph: Graph, tmp_path: Path) -> None:
    wiki = Wiki.open(tmp_path)
    assert wiki.missing()["navigate"] == f"no embeddings in {tmp_path}: run `linkwalk embed {tmp_path}` first"
    assert wiki.agents == ["random", "random-dfs"]
    with pytest.raises(ArtifactError, match="linkwalk embed"):
        wiki.walk("Ore", "Sun")
    assert wiki.walk("Ore", "Sun", agent="random").agent == "random"


def test_a_policy_walks_by_its_own_constants_unless_others_are_asked_for(tmp_path: Path) -> None:
    own = {"map": {"detour": 0.2, "crowding": 1}}
    assert with_its_map(MoveConfig(back=True), tmp_path, own).constants == MapConfig(detour=0.2, crowding=1)
    assert with_its_map(MoveConfig(), tmp_path, {}).constants == MapConfig()
    for asked in (MapConfig(detour=0.1), MapConfig()):  # the usual ones, too
        assert with_its_map(MoveConfig(map=asked), tmp_path, own).constants == asked


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (5, "`map` is no object"),
        ({"wings": 2}, "`map` has `wings`, which this version does not know"),
        ({"detour": "long"}, "`map.detour` is no number"),
        ({"detour": True}, "`map.detour` is no number"),
        ({"detour": -1}, "`map` has detour=-1: choose 0 or more"),
    ],
)
def test_broken_constants_are_one_line(tmp_path: Path, found: object, says: str) -> None:
    with pytest.raises(ArtifactError) as error:
        with_its_map(MoveConfig(), tmp_path, {"map": found})
    assert str(error.value) == (
        f"{tmp_path / 'manifest.json'} is damaged ({says}): get the policy again, or train it anew"
    )
