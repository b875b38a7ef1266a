"""Questions with the blocks that answer them, set by set, as JSON lines: labelled ones, and ones made of links."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from linkwalk.downstream.benchmark import _kept, align, read_benchmark
from linkwalk.downstream.dataset import AlignedQuestion, plain
from linkwalk.downstream.fever import Fever, sentences_of
from linkwalk.downstream.link_questions import LinkDrawConfig, LinkQuestion, draw_bridges, draw_links
from linkwalk.downstream.mining import untokenised
from linkwalk.downstream.question_sets import MultiHop, NaturalQuestions
from linkwalk.downstream.unanswerable import foreign
from linkwalk.graph.store import Graph

LINKS = {
    **dict.fromkeys(("kubernetes", "freecad", "webplatform"), "tuned"),
    **dict.fromkeys(("handbook", "jargon", "modwiki", "dotnet"), "kept"),
}
"""Collections that questions are made of, and what they are for."""


class Sets:
    """Writes all of them."""

    def __init__(self, data: Path, wikis: Path, out: Path) -> None:
        self.data, self.wikis, self.out = data, wikis, out
        out.mkdir(parents=True, exist_ok=True)

    def graph(self, wiki: str) -> Graph:
        """A wiki."""
        return Graph.open(self.wikis / wiki)

    def write(self, name: str, wiki: str, rows: Iterable[dict[str, Any]]) -> None:
        """One set."""
        whole = [{"set": name, "wiki": wiki, **row} for row in rows]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in whole)
        (self.out / f"{name}.jsonl").write_text(text, encoding="utf-8")
        print(name, dict(Counter(row["part"] for row in whole)), flush=True)

    def claims(self) -> None:
        """FEVER's in schools2007, by block and by page; articles of those kept, which nothing is learned from."""
        graph, file = self.graph("schools"), self.data / "fever-train-in-schools2007.jsonl"
        claims = {claim.id: claim for claim in Fever().read(file, [])}
        closed: set[int] = set()
        for name, level in (("fever", "block"), ("fever-pages", "page")):
            found = read_benchmark("fever", file, graph, threshold=70, level=level)
            rows = []
            for one in found.judged:
                part = "tuned" if one.id in found.tuned else "kept"
                told = [[s.title, untokenised(s.text)] for s in sentences_of(claims[one.id]) if s.text]
                rows.append(row_of(one, part, level) | {"evidence": told})
                closed |= _articles(graph, one) if part == "kept" else set()
            self.write(name, "schools", rows)
        files = ("fever-dev-in-schools2007.jsonl", "fever-dev.jsonl.xz")
        few, many = (align(Fever(), self.data / name, graph, level="page").questions for name in files)
        known = {one.id for one in few} | {plain(one.text) for one in few}
        dev = [*few, *(one for one in many if one.id not in known and plain(one.text) not in known)]
        closed |= {article for one in dev for article in _articles(graph, one)}
        self.write("fever-dev", "schools", [row_of(one, "kept", "page") for one in dev])
        (self.out / "schools-closed-articles.json").write_text(json.dumps(sorted(closed)))
        shut = frozenset(closed)
        links = draw_links(graph, LinkDrawConfig(count=2010, seed=1, per_page=3, content=5, closed=shut))[
            :2000
        ]
        bridges = draw_bridges(graph, LinkDrawConfig(count=1500, seed=2, per_page=3, content=5, closed=shut))
        self.made_of_links("links-schools", "schools", graph, links, "tuned")
        self.made_of_links("bridge-schools", "schools", graph, bridges, "tuned")

    def made_of_links(
        self, name: str, wiki: str, graph: Graph, questions: Sequence[LinkQuestion], part: str
    ) -> None:
        """Questions made of links, with the block that each was taken from."""
        rows = []
        for one in questions:
            bridge = one.group == "bridge"
            row = row_of(one.aligned(graph), part, "block" if bridge else "page")
            rows.append(row | {"gone_source": None if bridge else one.source})
        self.write(name, wiki, rows)

    def answers(self, wiki: str) -> None:
        """Natural Questions that some block has the answer of: EfficientQA to learn from, the development set kept."""
        graph, reader = self.graph(wiki), NaturalQuestions()
        dev = list(reader.read(self.data / "nq-open-dev.jsonl", []))
        never = {plain(one.text) for one in dev}
        others = [
            o for o in reader.read(self.data / "nq-efficientqa.jsonl", []) if plain(o.text) not in never
        ]
        asked = [("tuned", f"efficientqa {o.id}", o) for o in others] + [
            ("kept", f"dev {o.id}", o) for o in dev
        ]
        rows = []
        for (part, name, one), nodes in zip(
            asked, holders(graph, [o.answers for _, _, o in asked]), strict=True
        ):
            if nodes:
                gold = tuple(frozenset((node,)) for node in nodes)
                row = row_of(
                    AlignedQuestion(id=name, text=one.text, gold=gold, group="answerable"), part, "block"
                )
                rows.append(row | {"answers": list(one.answers)})
        self.write(f"nq-{wiki}", wiki, rows)

    def all(self) -> None:
        """Every set."""
        self.claims()
        for wiki in ("schools", "simple"):
            self.answers(wiki)
        for wiki, file in (("hotpot", "hotpotqa_train.json"), ("musique", "musique_train.json")):
            asked = align(MultiHop(), self.wikis / "raw" / "multihop" / file, self.graph(wiki)).questions
            # The halves that earlier figures are of: by a hash of the question's letters.
            self.write(
                wiki, wiki, [row_of(one, "kept" if _kept(one.text, 2) else "tuned", "block") for one in asked]
            )
        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
        import encyclopedia

        own = encyclopedia.asked(self.graph("encyclopedia"))
        self.write("encyclopedia", "encyclopedia", [row_of(one, "kept", "block") for one in own])
        for wiki, part in LINKS.items():
            config = LinkDrawConfig(count=800 if part == "tuned" else 1000, seed=1, per_page=4, content=5)
            graph = self.graph(wiki)
            self.made_of_links(f"links-{wiki}", wiki, graph, draw_links(graph, config), part)
        questions = list(NaturalQuestions().read(self.data / "nq-open-dev.jsonl", []))
        for wiki in ("encyclopedia", "hotpot", "schools"):
            far = foreign(self.graph(wiki), questions, 100)
            rows = [
                AlignedQuestion(id=one.id, text=one.text, gold=(frozenset((-1,)),), group="foreign")
                for one in far
            ]
            self.write(f"foreign-{wiki}", wiki, [row_of(one, "kept", "block") for one in rows])


def row_of(one: AlignedQuestion, part: str, level: str) -> dict[str, Any]:
    """A question as a line has it."""
    gold = [sorted(map(int, nodes)) for nodes in one.gold]
    return {"id": one.id, "text": one.text, "group": one.group, "gold": gold, "level": level, "part": part}


def _articles(graph: Graph, one: AlignedQuestion) -> set[int]:
    return {int(graph.node_article[node]) for nodes in one.gold for node in nodes}


def holders(graph: Graph, answers: Sequence[Sequence[str]]) -> list[list[int]]:
    """For each question all blocks that have one of its answers."""
    wanted: dict[str, set[int]] = {}
    for number, own in enumerate(answers):
        for answer in own:
            if text := plain(answer):
                wanted.setdefault(text, set()).add(number)
    by_word: dict[str, list[str]] = {}
    for answer in wanted:
        by_word.setdefault(max(answer.split(), key=len), []).append(answer)
    found: list[list[int]] = [[] for _ in answers]
    for node in range(graph.nodes):
        text = plain(graph.texts[node])
        hits = {
            number
            for word in by_word.keys() & set(text.split())
            for answer in by_word[word]
            if f" {answer} " in f" {text} "
            for number in wanted[answer]
        }
        for number in hits:
            found[number].append(node)
    return found
