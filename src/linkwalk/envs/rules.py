"""The rules of the game: which episodes are drawn, how long they last and what is rewarded."""

import math
import re
from dataclasses import dataclass, field

from linkwalk.errors import InputError
from linkwalk.evaluate import SAMPLINGS, TaskConfig

_ID = re.compile(r"(navigation|multistep)-(\d{1,4})(?:-(forward|reverse))?")
MOST_STEPS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What holds for every episode."""

    task: TaskConfig = field(default_factory=TaskConfig)
    """How start and goal are drawn; its seed and number of episodes are those of ``linkwalk eval``."""
    budget: int = 100
    """Steps after which an episode is cut off."""
    back: bool = False
    """Whether there is a back button: the last action. It takes one step, as a click does."""
    step_cost: float = 0.0
    """What is taken off the reward at every step; standing on the goal adds 1."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not 1 <= self.budget <= MOST_STEPS:
            raise InputError(f"budget={self.budget}: choose 1 to {MOST_STEPS:,} steps")
        if not math.isfinite(self.step_cost):
            raise InputError(f"step_cost={self.step_cost} is no number")
        if self.task.task == "sentence":
            raise InputError("the environment has no sentence search: choose navigation or multistep")
        if self.task.steps < 1:
            raise InputError(f"a task of {self.task.steps} steps leads nowhere: choose 1 or more")


def task_of(name: str | TaskConfig, *, seed: int = 0) -> TaskConfig:
    """The task of an id such as ``navigation-10``, ``multistep-20`` or ``navigation-5-reverse``."""
    if isinstance(name, TaskConfig):
        return name
    match = _ID.fullmatch(name)
    if match is None or int(match[2]) < 1:
        raise InputError(
            f"no task {name!r}: give one such as 'navigation-10', 'multistep-20' or 'navigation-5-reverse'"
        )
    task = "navigation" if match[1] == "navigation" else "multistep"
    sampling = "reverse" if match[3] == SAMPLINGS[1] else "forward"
    return TaskConfig(task=task, steps=int(match[2]), sampling=sampling, seed=seed)  # type: ignore[arg-type]
