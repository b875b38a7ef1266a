"""How evidence is looked for: where to begin, how to read on, how much, and who ranks what was read (sec. 4.3)."""

from dataclasses import dataclass, field, fields
from typing import Any

from linkwalk.errors import InputError
from linkwalk.navigate import Agent
from linkwalk.navigate.tabs import TabsConfig
from linkwalk.policy.compass import Compass
from linkwalk.retrieve.pagerank import HITS
from linkwalk.retrieve.rerank import Reranker
from linkwalk.retrieve.starts import DEPTH, STARTS

NAVIGATION = ("tabs", "walks", "expand", "pagerank", "order", "lead", "none")
NAVIGATED = frozenset({"tabs", "walks", "order"})
"""The ways of navigation that take an agent."""
BEGUN = frozenset({"walks", "expand"})
"""Those that begin at a few blocks and may read without an end."""


@dataclass(frozen=True, kw_only=True)
class FindConfig:
    """What is asked for, in Python, on the command line and over HTTP."""

    navigation: str = "tabs"
    """``tabs``: the best link of all pages read, or the next hit (ours); ``walks``: the agent walks from each start
    (the paper); ``expand``: every block one link away from a start; ``pagerank``: the blocks where most weight comes to
    rest that starts at the hits and follows links; ``order``: the hits in the agent's order, so tabs
    without links; ``lead``: the first block of each hit's article; ``none``: the hits alone, as they come."""
    start: str | None = None
    """``bm25``, ``dense`` (the nearest embeddings) or ``hybrid`` (both lists fused); None: see ``begin``."""
    starts: int = 5
    """Blocks that ``walks`` and ``expand`` begin at: the appendix's five (section 4.3 says ten)."""
    steps: int = 20
    """Clicks from each of them, if the agent walks."""
    candidates: int = 20
    """At most that many blocks are read, the soonest seen; 0: all (with ``walks`` and ``expand``)."""
    agent: str | Agent | Compass | None = None
    """Who navigates, by name or an object: with ``walks`` it walks, with ``tabs`` and ``order`` it says where to look.
    None: the policy that ships, or whoever else fits the embeddings."""
    rerank: str | Reranker | None = None
    """Who ranks the sentences: cross, tfidf, none, a folder, ``package.module:Name``, or an object; None: the best
    there is."""
    read_all: bool = False
    """Whether ``candidates`` blocks are read though what is left is hardly worth it, where a judge says so."""
    top: int = 20
    """Sentences that a cross-encoder of single sentences reads: with all of them evidence is found better, and more
    slowly. One that reads blocks reads all of them."""
    embeddings: str | None = None
    """What agents look at; None: the embeddings that one has by default."""
    tabs: TabsConfig = field(default_factory=TabsConfig)

    def __post_init__(self) -> None:
        """Refuse names that there are not, and numbers with which nothing would be read."""
        if self.starts < 1 or self.steps < 0 or self.candidates < 0:
            raise InputError(
                f"starts={self.starts}, steps={self.steps}, candidates={self.candidates}: "
                "choose 1 or more starts, and no negative number"
            )
        if self.top < 1:
            raise InputError(f"top={self.top}: a reranker reads one sentence at least")
        if self.begin not in STARTS:
            raise InputError(f"no starts named {self.start!r}: choose one of {', '.join(STARTS)}")
        if self.navigation not in NAVIGATION:
            raise InputError(
                f"no navigation named {self.navigation!r}: choose one of {', '.join(NAVIGATION)}"
            )
        if not self.candidates and self.navigation not in BEGUN:
            raise InputError(f"candidates=0 with {self.navigation}: choose how many blocks are to be read")

    @classmethod
    def of(cls, **options: Any) -> "FindConfig":
        """From options by name; one that there is not is an error that lists those there are."""
        names = [field.name for field in fields(cls)]
        if unknown := set(options) - set(names):
            raise InputError(f"no option named {min(unknown)!r}: there are {', '.join(names)}")
        return cls(**options)

    @property
    def begin(self) -> str:
        """Where to begin: where embeddings are looked at in any case, both lists are better than one."""
        return self.start or ("hybrid" if self.navigation in ("tabs", "order") else "bm25")

    @property
    def navigated(self) -> bool:
        """Whether an agent has a say."""
        return self.navigation in NAVIGATED

    @property
    def who(self) -> str:
        """The agent's name."""
        agent = self.agent or ""
        return agent if isinstance(agent, str) else str(getattr(agent, "name", type(agent).__name__))

    @property
    def hits(self) -> int:
        """How many search results are asked for."""
        if self.navigation in BEGUN:
            return min(self.starts, self.candidates) if self.candidates else self.starts
        if self.navigation == "pagerank":
            return HITS
        return self.candidates if self.navigation == "none" else max(DEPTH, self.candidates)
