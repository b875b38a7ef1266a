"""Find, serve and mcp where torch and transformers cannot be imported; and which files they open, and how often."""

import functools
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters

from linkwalk.embed import Embeddings
from linkwalk.embed.model import find_model
from linkwalk.embed.transformer import open_transformer
from linkwalk.policy.target import TargetEncoder, read_target
from linkwalk.retrieve import Cascade, FindConfig
from linkwalk.retrieve.block_folder import open_blocks, read_ranking
from linkwalk.retrieve.cross import BlockConfig, CrossEncoder, read_cross
from linkwalk.retrieve.judge import Judge
from linkwalk.shipped import policy_path, reranker_path
from linkwalk.wiki import Wiki
from tests.serve.conftest import process

pytestmark = pytest.mark.slow
QUERY = "Which ocean is next to the coral reef?"
# Read by every Python process that finds it, workers of a server included.
SITE = """
import os, sys

sys.modules["torch"] = sys.modules["transformers"] = None
opened = os.environ.get("OPENED")

def hear(event, args):
    if event == "open" and isinstance(args[0], (str, os.PathLike)):
        os.write(log, (os.path.realpath(args[0]) + "\\n").encode("utf-8", "replace"))

if opened:
    log = os.open(opened, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    sys.addaudithook(hear)
"""


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where processes without torch write down which files they have opened."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SITE, "utf-8")
    paths = (str(tmp_path / "site"), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.setenv("OPENED", str(tmp_path / "opened.txt"))
    return tmp_path / "opened.txt"


@pytest.fixture(scope="module")
def by_torch(small: Path) -> list[tuple[str, float]]:
    """The sentences that are to be found, and their scores, with the cross-encoder read by torch."""
    _, config, weights = read_cross(reranker_path())
    plain, wiki = open_transformer("minilm", device="cpu"), Wiki.open(small)
    opened = wiki.finder(FindConfig())
    if isinstance(config, BlockConfig):
        ranking = read_ranking(reranker_path())
        assert ranking is not None
        opened.finder.judge = Judge(wiki.graph, open_blocks(plain, weights, config), ranking)
    else:
        opened.finder.rerank = Cascade(CrossEncoder(plain, weights, config))
    (found,) = opened.find([QUERY], 5)
    return list(zip(found.sentences, found.scores, strict=True))


def is_right(answer: dict[str, Any], by_torch: list[tuple[str, float]]) -> None:
    assert len(by_torch) == 5
    assert [e["sentence"] for e in answer["evidence"]] == [sentence for sentence, _ in by_torch]
    assert [e["score"] for e in answer["evidence"]] == pytest.approx(
        [score for _, score in by_torch], abs=1e-4
    )


def find(wiki: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "linkwalk", "find", str(wiki), QUERY, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.usefixtures("opened")
def test_find(small: Path, by_torch: list[tuple[str, float]]) -> None:
    answer = find(small)
    assert answer["rerank"] == "cross"
    is_right(answer, by_torch)


def test_every_model_is_opened_once(small: Path, opened: Path) -> None:
    find(small)
    times = Counter(Path(line) for line in opened.read_text().splitlines())
    model = find_model("minilm").path.resolve()
    assert times[model / "model.safetensors"] <= 2, "once for its checksum and once to be mapped"
    assert times[model / "tokenizer.json"] <= 1
    assert times[model / "config.json"] <= 2
    small = small.resolve()
    for manifest in (
        small / "graph" / "manifest.json",
        small / "embeddings" / "minilm-walks" / "manifest.json",
    ):
        assert times[manifest] <= 1, manifest


def test_a_second_question_opens_nothing(small: Path, opened: Path) -> None:
    code = (
        "import os, sys; from linkwalk import Wiki; wiki = Wiki.open(sys.argv[1]); ways = ('tabs', 'walks')\n"
        "for way in ways: wiki.find(sys.argv[2], navigation=way)\n"
        "os.truncate(os.environ['OPENED'], 0)\n"
        "for way in ways: wiki.find('What is the Moon next to?', navigation=way)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(small), QUERY], check=True)
    places = (small, policy_path(), reranker_path(), find_model("minilm").path)
    found = [Path(line) for line in opened.read_text().splitlines()]
    assert not [path for path in found if any(path.is_relative_to(place.resolve()) for place in places)]


@pytest.mark.usefixtures("opened")
def test_serve(small: Path, by_torch: list[tuple[str, float]]) -> None:
    with process(small, "--workers", 1) as served, httpx.Client(base_url=served.url, timeout=120) as client:
        answer = client.post("/api/v1/find", json={"query": QUERY})
        assert answer.status_code == 200, answer.text
        is_right(answer.json(), by_torch)
        walk = client.post("/api/v1/walk", json={"start": 0, "sentence": QUERY, "agent": "compass"})
        assert walk.status_code == 200, walk.text
        assert_reads_as_torch(small, walk.json())


def assert_reads_as_torch(wiki: Path, walk: dict[str, Any]) -> None:
    """The page that came closest is as close to what torch reads in the sentence."""
    target, table = read_target(policy_path()), Embeddings.open(wiki)
    assert target is not None
    reads = TargetEncoder(table.transformer(), target[1])
    closest = walk["closest"]
    rows = [reads.encode([QUERY])[0], table.vectors[closest["place"]["node"]].astype(np.float32)]
    unit = [row / np.linalg.norm(row) for row in rows]
    assert closest["score"] == pytest.approx(float(unit[0] @ unit[1]), abs=1e-4)


@pytest.mark.usefixtures("opened")
def test_mcp(small: Path, by_torch: list[tuple[str, float]]) -> None:
    program = StdioServerParameters(
        command=sys.executable, args=["-m", "linkwalk", "mcp", str(small)], env=dict(os.environ)
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(program)) as client,
    ):
        called = portal.call(
            functools.partial(client.call_tool, "find_evidence", {"query": QUERY, "limit": 5})
        )
        assert not called.is_error, called
        assert called.structured_content is not None
        is_right(called.structured_content["answer"], by_torch)
