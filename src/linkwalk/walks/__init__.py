"""E(n_0 .. n_T): forward, reverse, shortest-path and shortcut samplers of walks; edge dropout (sec. 3.1, app. B.2)."""

from linkwalk.walks.dropout import HiddenLinks, drop_edges
from linkwalk.walks.sampler import Sampler, Walks
from linkwalk.walks.shortcut import ShortcutWalks, take_shortcuts
from linkwalk.walks.shortest import ShortestWalks
from linkwalk.walks.uniform import ForwardWalks, ReverseWalks

__all__ = [
    "ForwardWalks",
    "HiddenLinks",
    "ReverseWalks",
    "Sampler",
    "ShortcutWalks",
    "ShortestWalks",
    "Walks",
    "drop_edges",
    "take_shortcuts",
]
