"""How fast is the encoder ``words``, and how much memory does it take? A wiki once, and ten times in other alphabets.

    python bench/words.py WIKI [--copies 1 10] --json bench/results/words_HARDWARE_DATE.json

WIKI is a workspace in English. Each copy's letters and digits are those of another alphabet, so that no two copies have
a word in common, as in a wiki that is so much larger and has so many more words. Each table is made in a process of its
own, whose memory is sampled ten times a second.
"""

import argparse
import tempfile
import time
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

import numpy as np

from index import in_child
from linkwalk.embed import EmbedConfig, Embeddings, embed
from linkwalk.graph.store import Graph
from linkwalk.graph.writer import GraphWriter
from linkwalk.progress import Progress
from report import report

PIECE = 8192
#: Where 36 letters in a row begin: Cyrillic, Armenian, Georgian, Cherokee, Canadian, Yi, Vai, Korean, Ethiopic.
ALPHABETS = (0x430, 0x561, 0x10D0, 0x13A0, 0x1401, 0xA000, 0xA500, 0xAC00, 0x1200)


def in_alphabet(text: str, copy: int) -> str:
    """A text in the alphabet of a copy; that of the first is its own."""
    if not copy:
        return text
    letters = ascii_lowercase + digits
    return text.lower().translate({ord(sign): ALPHABETS[copy - 1] + i for i, sign in enumerate(letters)})


def write_copies(wiki: Path, copies: int, out: Path) -> None:
    """A graph of the blocks of a wiki several times over, without links: these are nothing to an encoder."""
    graph = Graph.open(wiki)
    titles = graph.titles.slice(0, graph.articles)
    with GraphWriter(out / "graph") as writer:
        writer.add_sections([""])
        for copy in range(copies):
            first = copy * graph.nodes + graph.article_node.astype(np.int64)
            writer.add_articles([in_alphabet(title, copy) for title in titles], first)
            for start in range(0, graph.nodes, PIECE):
                stop = min(start + PIECE, graph.nodes)
                texts = [in_alphabet(text, copy).encode() for text in graph.texts.slice(start, stop)]
                lengths = np.array([len(text) for text in texts])
                nothing = np.zeros(stop - start, np.int64)
                writer.add_blocks(
                    text=b"".join(texts),
                    text_lengths=lengths,
                    article=copy * graph.articles + graph.node_article[start:stop],
                    block=graph.node_block[start:stop],
                    section=nothing,
                    sentence_counts=nothing + 1,
                    sentence_ends=lengths,
                )
                writer.add_edges(
                    degrees=nothing,
                    targets=np.zeros(0, np.int64),
                    kinds=np.zeros(0, np.int64),
                    spans=np.zeros((0, 2), np.int64),
                )
        writer.add_redirects([], np.zeros(0, np.int64))
        writer.finish({"config": {}, "inputs": [], "snapshot": {"name": "copies", "date": ""}})


def make(workspace: Path) -> dict[str, Any]:
    """Embed, and say how much there was."""
    began = time.process_time()
    embed(workspace, EmbedConfig(encoder="words"), progress=Progress())
    used = time.process_time() - began
    table = Embeddings.open(workspace, "words")
    terms = np.load(table.folder / "words_terms.npy", mmap_mode="r")
    return {"blocks": len(table.vectors), "terms": len(terms), "cpu_s": used}


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wiki", type=Path)
    parser.add_argument("--copies", type=int, nargs="*", default=[1, 10])
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        warm = Path(folder, "warm")
        write_copies(asked.wiki, 1, warm)
        in_child(make, warm)  # kernels are compiled, the text is in the system's memory
        for copies in asked.copies:
            workspace = Path(folder, str(copies))
            write_copies(asked.wiki, copies, workspace)
            found = in_child(make, workspace)
            results |= {f"{copies}x {what}": value for what, value in found.items()}
            results[f"{copies}x blocks/s"] = round(found["blocks"] / found["s"])
            results[f"{copies}x blocks/s of a core"] = round(found["blocks"] / found["cpu_s"])
    report("words", {"wiki": asked.wiki.name, "copies": asked.copies}, results, asked.json)


if __name__ == "__main__":
    main()
