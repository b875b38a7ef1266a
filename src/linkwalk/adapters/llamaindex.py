"""``WikiRetriever`` for LlamaIndex: nodes whose metadata is the evidence and its path.

Needs llama-index-core: ``pip install 'linkwalk[llamaindex]'``. docs/adapters.md has an example.
"""

import asyncio
from pathlib import Path
from typing import Any

from linkwalk.adapters.passages import Passages, open_wiki
from linkwalk.wiki import Wiki

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise ImportError(f"{error.name} is not installed: pip install 'linkwalk[llamaindex]'") from None

_NOT_FOR_MODELS = ["score", "sentence", "start", "path", "confidence"]
"""Metadata that a language model need not read."""


class WikiRetriever(BaseRetriever):
    """Finds sentences, or the paragraphs they stand in, on one wiki.

    ``wiki`` is a ``linkwalk.Wiki`` or a workspace's path; the other options are those of ``Passages``. ``retrieve``,
    ``aretrieve`` (in a thread, so that the event loop goes on) and query engines work as with any retriever.
    """

    def __init__(
        self, wiki: Wiki | Path | str, *, callback_manager: Any = None, verbose: bool = False, **options: Any
    ) -> None:
        self.passages = Passages(wiki=open_wiki(wiki), **options)
        super().__init__(callback_manager=callback_manager, verbose=verbose)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    id_=name,
                    text=text,
                    metadata=metadata,
                    excluded_llm_metadata_keys=_NOT_FOR_MODELS,
                    excluded_embed_metadata_keys=list(metadata),
                ),
                score=metadata["score"],
            )
            for name, text, metadata in self.passages.find(query_bundle.query_str)
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
