"""p_theta(n_t+1 | n_t, n_g): which link to click, given where one is and what one looks for (sec. 3.2, 4.2)."""

from linkwalk.policy.decisions import Decisions, from_walks, visited_targets, without

__all__ = ["Decisions", "from_walks", "visited_targets", "without"]
