"""``linkwalk train WIKI`` with no options: a word table and a compass of the wiki's own."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from linkwalk.embed import Embeddings
from linkwalk.graph.held_out import WITHHELD, held_out_nodes
from linkwalk.graph.store import LINK, Graph
from tests.cli.conftest import Ran
from tests.graph.conftest import Page, write_graph

Run = Callable[..., Ran]
QUICK = [
    text
    for setting in ("updates=24", "evaluate_every=6", "lesson.goals=16", "lesson.steps=8", "refresh_every=5")
    for text in ("--set", setting)
]
TOPICS = ("stone river", "winter garden", "engine market", "signal harbour", "copper meadow")


def sited(folder: Path, articles: int = 90, seed: int = 3) -> Path:
    """A wiki whose articles have a topic each, named in their words, and links within it, more or less."""
    rng = random.Random(seed)
    titles = [f"{TOPICS[i % len(TOPICS)].split()[0]} number{i}" for i in range(articles)]

    def links(i: int) -> list[tuple[str, int, int]]:
        like = [j for j in range(articles) if j != i and j % len(TOPICS) == i % len(TOPICS)]
        chosen = [*rng.sample(like, 3), rng.randrange(articles)]
        return [(titles[j], 0, LINK) for j in chosen if j != i]

    pages = {
        title: [Page(f"{title} of {TOPICS[i % len(TOPICS)]} word{i} and more words", links(i))]
        for i, title in enumerate(titles)
    }
    write_graph(folder, pages)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sited(tmp_path_factory.mktemp("sited") / "wiki")


@pytest.fixture
def site(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "wiki"))


def test_it_trains_tells_what_it_gained_and_is_used_from_then_on(
    run: Run, site: Path, tmp_path: Path
) -> None:
    ran = run("train", site, *QUICK, "-q", "--json")
    told = ran.json()
    assert told["policy"] == str(site / "policies" / "trained-words")
    assert [(row["agent"], row["steps"]) for row in told["gains"]] == [
        (agent, steps) for steps in (5, 10, 20) for agent in ("greedy-map", "trained-words")
    ]
    table = Embeddings.open(site)
    assert table.name == "trained-words"
    assert table.fingerprint == told["encoder"] != Embeddings.open(site, "words").fingerprint
    assert np.allclose(np.linalg.norm(table.vectors.astype(np.float32), axis=1), 1, atol=2e-3)
    text = "river engine"
    assert not np.allclose(
        table.encoder().encode([text]), Embeddings.open(site, "words").encoder().encode([text])
    )

    shown = run("eval", site, "--goals", "withheld", "--episodes", 50, "--steps", 5, "--json", "-q").json()
    assert [row["agent"] for row in shown["results"]] == ["trained-words", "greedy-unvisited", "random"]
    assert shown["embeddings"] == "trained-words"

    again = run("train", site, *QUICK, "-q")
    assert again.out.startswith("trained-words is up to date")
    assert "failure ratio" in again.out
    other = run("train", site, *QUICK, "--set", "seed=1", "-q")
    assert other.status == 2
    assert "of another training (config.seed was 0, is 1): add --force" in other.err

    later = sited(tmp_path / "later", seed=4)
    encoder = site / "embeddings" / "trained-words"
    assert run("embed", later, "--encoder", encoder, "-q").status == 0
    assert Embeddings.open(later).fingerprint == table.fingerprint
    walked = run(
        "eval",
        later,
        "--agent",
        site / "policies" / "trained-words",
        "--episodes",
        20,
        "--steps",
        5,
        "--json",
        "-q",
    )
    assert walked.json()["embeddings"] == "trained-words"


def test_goals_in_withheld_articles_are_never_trained_towards(site: Path) -> None:
    from linkwalk.learn.encoders.lessons import Ground, LessonConfig
    from linkwalk.learn.encoders.word_table import CHOOSING, ChoosingGoals

    graph = Graph.open(site)
    reported, all_ = held_out_nodes(graph, WITHHELD), held_out_nodes(graph, WITHHELD + CHOOSING)
    chosen = ChoosingGoals(graph).episodes.goals
    assert all_[chosen].all()
    assert not reported[chosen].any()
    ground = Ground(
        graph.forward,
        graph.reverse,
        graph.out_kinds,
        np.zeros((graph.nodes, 4), np.float32),
        LessonConfig(),
        withheld=all_,
    )
    assert not all_[ground.episodes(np.random.default_rng(0)).goals].any()


def test_what_gains_nothing_changes_nothing(run: Run, site: Path) -> None:
    ran = run("train", site, *QUICK, "--set", "learning_rate=0", "-q")
    assert "the walker before is as good: nothing was changed" in ran.out
    assert not (site / "policies" / "trained-words").exists()
    assert not (site / "policies" / "trained-words.partial").exists()
    assert Embeddings.open(site).name == "words"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "lesson.goals=1"], "goals=1: choose 2 or more"),
        (["--set", "batch=3"], "batch=3: there is no such setting; there are updates"),
        (["--set", "search=1"], "a word table learns from blocks alone"),
        (["--recipe", "trained-words", "--head", "mlp"], "trained-words trains a compass"),
    ],
)
def test_bad_settings(run: Run, site: Path, options: list[str], message: str) -> None:
    ran = run("train", site, *options, "-q")
    assert ran.status == 2
    assert message in ran.err


def test_a_handful_of_pages_is_too_small(run: Run, tmp_path: Path) -> None:
    pages = {name: [Page(f"{name} is here", [(to, 0, LINK)])] for name, to in ("AB", "BC", "CA")}
    write_graph(tmp_path / "small", pages)
    ran = run("train", tmp_path / "small", "-q")
    assert ran.status == 2
    assert "the wiki is too small to train a table of its own" in ran.err
    assert (
        json.loads((tmp_path / "small" / "embeddings" / "words" / "manifest.json").read_bytes())["nodes"] == 3
    )
