"""From a question to sentences, each with the click path that found it (sec. 4.3)."""

from linkwalk.retrieve.bm25 import Bm25, index
from linkwalk.retrieve.config import FindConfig
from linkwalk.retrieve.evidence import EvidenceList, Trail
from linkwalk.retrieve.finder import Finder
from linkwalk.retrieve.rerank import Cascade, Reranker, tfidf

__all__ = ["Bm25", "Cascade", "EvidenceList", "FindConfig", "Finder", "Reranker", "Trail", "index", "tfidf"]
