"""linkwalk: learn to find things by following links."""

__version__ = "0.1.0"
