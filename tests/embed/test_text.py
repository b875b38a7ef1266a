"""What is read of a block."""

from linkwalk.embed.text import node_texts
from linkwalk.graph.store import Graph


def test_title_and_text_of_every_block(graph: Graph) -> None:
    expected = [f"{graph.title(node)}. {graph.block(node).text}" for node in range(graph.nodes)]
    assert node_texts(graph, 0, graph.nodes) == expected
    assert node_texts(graph, 3, 6) == expected[3:6]
    assert node_texts(graph, 4, 4) == []
    assert expected[0] == (
        "Article 0 é. The Danube rises in the Black Forest and reaches the sea after 2,850 kilometres. Number 0."
    )
