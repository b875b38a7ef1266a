"""Retrievers for other libraries: what they return is the evidence that the wiki finds, with its path."""

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from linkwalk import Wiki
from linkwalk.adapters import langchain, llamaindex
from linkwalk.adapters.passages import Passages
from linkwalk.errors import ArtifactError, InputError
from linkwalk.wiki.answers import plain
from tests.retrieve.stand_in import by_hand, stand_in
from tests.wiki.conftest import hostile, known, walked, world

__all__ = ["hostile", "known", "walked", "world"]  # fixtures

ROOT = Path(__file__).parents[2]
QUESTION = "How many hearts has an octopus?"
WORDS: dict[str, Any] = {"navigation": "none", "rerank": "tfidf"}
Got = list[tuple[str, str, dict[str, Any]]]


def by_langchain(wiki: Wiki | Path | str, query: str, **options: Any) -> Got:
    retriever = langchain.WikiRetriever(wiki=wiki, **options)  # type: ignore[arg-type]
    return [(str(one.id), one.page_content, one.metadata) for one in retriever.invoke(query)]


def by_llamaindex(wiki: Wiki | Path | str, query: str, **options: Any) -> Got:
    found = llamaindex.WikiRetriever(wiki, **options).retrieve(query)
    assert [one.score for one in found] == [one.metadata["score"] for one in found]
    return [(one.node_id, one.text, one.metadata) for one in found]


BOTH = pytest.mark.parametrize("ask", [by_langchain, by_llamaindex])


@BOTH
def test_sentences(ask: Any, known: Wiki) -> None:
    found: Got = ask(known, QUESTION, count=4, **WORDS)
    answer = known.find(QUESTION, 4, **WORDS)
    assert [text for _, text, _ in found] == [one.sentence for one in answer.evidence]
    for (_, _, metadata), one in zip(found, answer.evidence, strict=True):
        assert json.loads(json.dumps(metadata)) == plain(one) | {"confidence": None, "answered": True}
        assert (metadata["place"]["title"], metadata["path"]) == (one.place.title, [])
    assert len({one[0] for one in found}) == 4
    assert ask(str(known.folder), QUESTION, count=4, **WORDS) == found
    assert ask(known.folder, QUESTION, count=2, **WORDS) == found[:2]


@BOTH
def test_paragraphs_come_once(ask: Any, known: Wiki) -> None:
    found: Got = ask(known, QUESTION, count=4, paragraph=True, **WORDS)
    nodes = [metadata["place"]["node"] for _, _, metadata in found]
    assert len(set(nodes)) == len(nodes) == 4
    for _, text, metadata in found:
        assert text == known.graph.texts[metadata["place"]["node"]]
        assert metadata["sentence"] in " ".join(text.split())
    scores = [metadata["score"] for _, _, metadata in found]
    assert scores == sorted(scores, reverse=True)


@BOTH
def test_a_reranker_of_ones_own(ask: Any, known: Wiki) -> None:
    def longest(query: str, titles: Sequence[str], sentences: Sequence[str]) -> list[float]:
        return [float(len(sentence)) for sentence in sentences]

    found: Got = ask(known, QUESTION, count=4, navigation="none", rerank=longest)
    assert [metadata["score"] for _, _, metadata in found] == [len(text) for _, text, _ in found]
    assert len(found) == 4


@BOTH
@pytest.mark.parametrize("paragraph", [False, True])
def test_what_nothing_answers_is_said_to_be_so(
    ask: Any, known: Wiki, tmp_path: Path, paragraph: bool
) -> None:
    judge = str(stand_in(tmp_path / "judge", ranking=by_hand(nothing=1.0)))
    found: Got = ask(known, QUESTION, count=2, navigation="none", rerank=judge, paragraph=paragraph)
    answer = known.find(QUESTION, 2, navigation="none", rerank=judge)
    assert not answer.answered
    assert answer.confidence is not None
    assert len(found) == 2
    for _, _, metadata in found:
        assert (metadata["confidence"], metadata["answered"]) == (answer.confidence, False)


@pytest.mark.slow
@BOTH
def test_the_path_can_be_walked(ask: Any, walked: Wiki) -> None:
    words = " ".join(walked.graph.texts[3].split()[:8])
    found: Got = ask(walked, words, count=12, navigation="walks", rerank="tfidf")
    assert any(len(metadata["path"]) > 1 for _, _, metadata in found)
    for _, _, metadata in found:
        at = metadata["start"]
        for click in metadata["path"]:
            assert click["at"] == at
            page, at = walked.block(at["node"]), click["to"]
            if click["kind"] in ("prev", "next"):
                place = page.previous if click["kind"] == "prev" else page.next
                assert place is not None
                assert place.node == at["node"]
            else:
                assert (at["node"], click["link"]) in [(link.node, link.text) for link in page.links]
        assert at == metadata["place"]


def test_the_event_loop_goes_on(known: Wiki) -> None:
    """Both libraries, several questions at once: none is answered in the thread that awaits them."""

    async def ask() -> tuple[list[Any], list[str]]:
        threads: list[str] = []

        class Watched(Wiki):
            def find(self, *args: Any, **options: Any) -> Any:
                threads.append(threading.current_thread().name)
                return super().find(*args, **options)

        wiki = Watched(known.folder, known.graph)
        one = langchain.WikiRetriever(wiki=wiki, **WORDS)
        other = llamaindex.WikiRetriever(wiki, **WORDS)
        asked = [ask(QUESTION) for _ in range(2) for ask in (one.ainvoke, other.aretrieve)]
        return await asyncio.gather(*asked), threads

    found, threads = asyncio.run(ask())
    assert len(threads) == 4
    assert threading.main_thread().name not in threads
    expected = [one.sentence for one in known.find(QUESTION, **WORDS).evidence]
    assert [one.page_content for one in found[0]] == [one.text for one in found[1]] == expected
    assert found[2:] == found[:2]


def test_many_questions(known: Wiki) -> None:
    retriever = langchain.WikiRetriever(wiki=known, count=1, **WORDS)
    questions = [QUESTION, "Who wrote the first computer program?", "What is a coral reef made of?"]
    found = retriever.batch(questions)
    assert [own[0].page_content for own in found] == [
        known.find(question, 1, **WORDS).evidence[0].sentence for question in questions
    ]


@BOTH
@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        (" ", {}, "the query is empty"),
        (QUESTION, {"count": 0}, "count=0"),
        (QUESTION, {"candidates": 0}, "candidates=0"),
        (QUESTION, {"navigation": "fly"}, "no navigation named 'fly'"),
        (QUESTION, {"rerank": "nobody"}, "no reranker 'nobody'"),
    ],
)
def test_what_cannot_be_asked(
    ask: Any, known: Wiki, query: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ask(known, query, **WORDS | options)


@BOTH
def test_a_wiki_that_is_not_ready(ask: Any, known: Wiki) -> None:
    with pytest.raises(InputError, match="no such workspace"):
        ask("/nowhere", QUESTION)
    with pytest.raises(ArtifactError, match="linkwalk embed"):
        ask(known, QUESTION, rerank="tfidf")


def test_hostile_text_is_text(hostile: Wiki) -> None:
    from linkwalk.retrieve import index

    index(hostile.folder, hostile.graph)
    passages = Passages(wiki=hostile, **WORDS).find("script alert more")
    assert any("<script>alert('1')</script>" in text for _, text, _ in passages)


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "adapters.md").read_text("utf-8"), re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("code", blocks())
def test_the_examples_run(
    code: str,
    world: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "demo").symlink_to(world)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 3
    assert len([line for line in code.splitlines() if line]) <= 10


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [("langchain", "langchain_core", "langchain"), ("llamaindex", "llama_index", "llamaindex")],
)
def test_without_the_library_it_says_what_to_install(module: str, library: str, extra: str) -> None:
    code = f"import sys; sys.modules[{library!r}] = None\nimport linkwalk.adapters.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ")
    assert f"pip install 'linkwalk[{extra}]'" in last
