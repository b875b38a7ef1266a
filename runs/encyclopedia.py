"""How much of the bundled claims' and questions' evidence each way of retrieval finds, at equal cost.

python runs/encyclopedia.py DEMO [--candidates 20] [--rerank PATH] [--top 20] [--agent A] [--embeddings E] [--json F]
python runs/encyclopedia.py DEMO --traces [--candidates 20]                          what took clicks, in Markdown

DEMO is the bundled encyclopedia, embedded and indexed. Gold are the blocks that hold the evidence sentences, for claims
(one each), questions whose evidence stands in one article, and questions that need two.
"""

import argparse
import json
from pathlib import Path

from linkwalk import shipped
from linkwalk.downstream.dataset import AlignedQuestion
from linkwalk.downstream.measure import compare, judge
from linkwalk.downstream.methods import METHODS
from linkwalk.graph.store import Graph
from linkwalk.reproduce.traces import evidence_gallery
from linkwalk.retrieve import FindConfig
from linkwalk.wiki.retrieval import open_finder, open_rows
from linkwalk.wiki.workspace import Workspace


def asked(graph: Graph) -> list[AlignedQuestion]:
    """Claims and questions with their blocks."""
    found = []
    for number, claim in enumerate(shipped.claims()):
        gold = frozenset({holder(graph, claim["article"], claim["sentence"])})
        found.append(AlignedQuestion(id=f"claim {number}", text=claim["claim"], gold=(gold,), group="claims"))
    for number, question in enumerate(shipped.questions()):
        gold = frozenset(holder(graph, e["article"], e["sentence"]) for e in question["evidence"])
        articles = {e["article"] for e in question["evidence"]}
        group = f"questions, {'two articles' if len(articles) > 1 else 'one article'}"
        found.append(
            AlignedQuestion(id=f"question {number}", text=question["question"], gold=(gold,), group=group)
        )
    return found


def holder(graph: Graph, title: str, sentence: str) -> int:
    """The block of an article that a sentence stands in."""
    article = graph.article(title)
    assert article is not None, title
    return next(node for node in graph.article_blocks(article).tolist() if sentence in graph.texts[node])


def main() -> None:
    """Ask, count, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wiki", type=Path)
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--rerank")
    parser.add_argument("--top", type=int, default=20, help="sentences that the cross-encoder reads")
    parser.add_argument("--agent", help="who navigates, and reads the questions [default: the usual one]")
    parser.add_argument("--embeddings", help="what is looked at [default: what the agent goes by]")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--traces", action="store_true")
    arguments = parser.parse_args()
    graph = Graph.open(arguments.wiki)
    wanted = asked(graph)
    if arguments.traces:
        asked_for = FindConfig(candidates=arguments.candidates, rerank="none")
        opened = open_finder(Workspace(arguments.wiki, graph), asked_for)
        meant = opened.reader.meant([one.text for one in wanted])
        shown = evidence_gallery(graph, opened.finder, wanted, *meant, count=6)
        print("\n".join(shown.lines()))
        return
    retrieval = FindConfig(
        **{name: getattr(arguments, name) for name in ("candidates", "rerank", "top", "agent", "embeddings")}
    )
    workspace = Workspace(arguments.wiki, graph, arguments.embeddings)
    answers = open_rows(workspace, retrieval, METHODS).find([one.text for one in wanted], 0)
    measured = {name: judge(graph, wanted, found) for name, found in answers.items()}
    results = []
    for row in METHODS:
        own = measured[row.name]
        result = {"way": row.name, "candidates": arguments.candidates, "metrics": own.to_json()}
        for what, other in (("reference", row.reference), ("control", row.control)):
            if other:
                result[f"against_{what}"] = compare(own, measured[other])
        results.append(result)
        recall = {group: f"{100 * figures['recall'][-1]:.1f}" for group, figures in own.to_json().items()}
        print(f"{row.name:40} recall@5 {recall}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
