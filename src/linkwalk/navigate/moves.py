"""How agents may move: privileges, and what the paper leaves open. Imports little: command lines are made of it."""

import math
from dataclasses import astuple, dataclass

from linkwalk.errors import InputError


@dataclass(frozen=True, kw_only=True)
class MapConfig:
    """What a walker with a map trades against what; all in units of the cosine."""

    detour: float = 0.05
    """What each further step to a link costs."""
    crowding: float = 0.06
    """What it costs to be like pages already seen."""
    likeness: float = 0.3
    """The cosine above which a page is like another."""
    homing: float = 0.06
    """What it costs to lie further from the start, times the logarithm of the clicks from there."""
    temperature: float = 20.0
    """By which worth is multiplied before the softmax over the ways to go: for probabilities and sampled walks."""

    def __post_init__(self) -> None:
        """Costs are no gains, and likeness is a cosine."""
        for name in ("detour", "crowding", "homing", "temperature"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name}={getattr(self, name)}: choose 0 or more")
        if not -1 <= self.likeness < 1:
            raise InputError(f"likeness={self.likeness}: choose a cosine, from -1 to below 1")

    def trades(self) -> tuple[float, ...]:
        """As the kernel takes them: floats, since it would be compiled again for whole numbers."""
        return tuple(map(float, astuple(self)))


@dataclass(frozen=True, kw_only=True)
class MoveConfig:
    """How an agent may move; each minds those that mean something to it (``Agent.minds``)."""

    back: bool = False
    """Whether it has a back button; depth-first search goes back in any case."""
    sampled: bool = False
    """Whether a link is drawn by its probability; otherwise the best is taken."""
    revisit: bool = False
    """Whether a policy may go to a page it has been at while others are left."""
    depth: int = 20
    """How many links below the start depth-first search goes: the task's T."""
    window: int = 16
    """How many pages back one with a back button looks for a better link, the current one among them."""
    map: MapConfig | None = None
    """What a walker with a map trades against what; None: as its policy was trained to, or else as usual."""

    def __post_init__(self) -> None:
        """The current page is always looked at."""
        if self.window < 1:
            raise InputError(f"window={self.window}: choose 1 or more pages")

    @property
    def constants(self) -> MapConfig:
        """What a walker with a map trades: what was asked for, or else the usual."""
        return self.map or MapConfig()

    def words(self) -> str:
        """For people, behind an agent's name."""
        said = ("with a back button", self.back), ("sampled", self.sampled), ("may revisit", self.revisit)
        return "".join(f", {words}" for words, is_so in said if is_so)

    @property
    def chosen(self) -> list[str]:
        """The privileges it has."""
        return [name for name in ("back", "sampled", "revisit") if getattr(self, name)]
