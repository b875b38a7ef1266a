"""Learning from walks: behavioural cloning (sec. 3)."""

from linkwalk.learn.clone import CloneConfig, clone

__all__ = ["CloneConfig", "clone"]
