"""What people and language models are told of an episode: texts of pages and links, and the path so far."""

from linkwalk.envs.on_cpu import Navigation
from linkwalk.envs.world import World
from linkwalk.graph.store import LINK, TYPES


def page_text(world: World, node: int) -> str:
    """A page's name and text."""
    return f"{world.graph.name(node)}\n{world.graph.texts[node]}"


def link_texts(world: World, node: int) -> tuple[str, ...]:
    """What each link of a page is called and where it leads, in the order of actions."""
    edges = world.graph.links(node)[: len(world.forward.row(node))]
    return tuple(
        f"{edge.anchor or (edge.kind if edge.kind in TYPES else TYPES[LINK])}: {world.graph.name(edge.target)}"
        for edge in edges
    )


def click_path(core: Navigation, b: int) -> str:
    """An episode as lines: its goal, the pages stood on, and how it stands."""
    name, state = core.world.graph.name, core.state
    if state.current[b] < 0:
        return "no episode has begun"
    steps, goal = int(state.steps[b]), int(state.goal[b])
    pages = [f"{step:>4}  {name(node)}" for step, node in enumerate(state.path[b, : steps + 1].tolist())]
    taken = f"{steps} step{'s' * (steps != 1)}"
    if state.current[b] == goal:
        stands = f"reached in {taken}"
    elif state.over[b]:
        stands = f"not reached in {taken}"
    else:
        stands = f"{taken} of {core.rules.budget}"
    return "\n".join((f"goal  {name(goal)}", *pages, stands))
