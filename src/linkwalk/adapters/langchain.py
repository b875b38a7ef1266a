"""``WikiRetriever`` for LangChain: documents whose metadata is the evidence and its path.

Needs langchain-core: ``pip install 'linkwalk[langchain]'``. docs/adapters.md has an example.
"""

from dataclasses import fields
from typing import Any

from linkwalk.adapters.passages import Passages, open_wiki
from linkwalk.wiki import Wiki

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import PrivateAttr, field_validator
except ImportError as error:
    raise ImportError(f"{error.name} is not installed: pip install 'linkwalk[langchain]'") from None


class WikiRetriever(BaseRetriever):
    """Finds sentences, or the paragraphs they stand in, on one wiki.

    ``wiki`` is a ``linkwalk.Wiki`` or a workspace's path; the other options are those of ``Passages``. ``invoke``,
    ``ainvoke`` (in a thread, so that the event loop goes on), ``batch`` and chains work as with any retriever.
    """

    wiki: Wiki
    count: int = 5
    candidates: int = 20
    navigation: str = "tabs"
    rerank: Any = None
    agent: Any = None
    paragraph: bool = False
    _passages: Passages = PrivateAttr()

    @field_validator("wiki", mode="before")
    @classmethod
    def _open(cls, wiki: Any) -> Wiki:
        return open_wiki(wiki)

    def model_post_init(self, context: Any, /) -> None:
        """Put the options together."""
        super().model_post_init(context)
        self._passages = Passages(**{field.name: getattr(self, field.name) for field in fields(Passages)})

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [
            Document(id=name, page_content=text, metadata=metadata)
            for name, text, metadata in self._passages.find(query)
        ]
