"""Titles as one types them."""

from linkwalk.graph.store import Graph


class Titles:
    """An index of titles and redirects."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @classmethod
    def of(cls, graph: Graph) -> "Titles":
        """Of a graph."""
        return cls(graph)

    def find(self, words: str, count: int) -> list[int]:
        """Articles, best first."""
        if not words.strip():
            return []
        found = []
        for title in self.graph.suggest(words, count):
            article = self.graph.article(title)
            if article is not None:
                found.append(article)
        return found
