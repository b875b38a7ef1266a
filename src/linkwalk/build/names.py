"""Titles, redirects and sections of the whole dump, as sorted tables of 64-bit keys that every worker maps.

This is what grows with the dump: 20 bytes per title or redirect, 12 per section heading.
"""

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwalk.graph.columns import map_array
from linkwalk.sources.select import REASONS

#: What a link to a name comes to when it is no article: the code -1 - i stands for OUTCOMES[i].
OUTCOMES = (
    *REASONS,
    "redirect loop",
    "redirect to a missing page",
    "redirect to a page left out",
    "missing page",
)
_LOOP, _NOWHERE, _LEFT_OUT, MISSING = (-1 - OUTCOMES.index(name) for name in OUTCOMES[-4:])
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Names:
    """Key of a name -> its article, or a negative code that says why there is none."""

    def __init__(self, folder: Path) -> None:
        self.keys: NDArray[np.uint64] = map_array(folder / "names-keys.npy")
        self.articles: NDArray[np.int32] = map_array(folder / "names-articles.npy")
        self.fragments: NDArray[np.uint64] = map_array(folder / "names-fragments.npy")
        self.title_keys: NDArray[np.uint64] = map_array(folder / "titles-keys.npy")
        self.address_keys: NDArray[np.uint64] = map_array(folder / "addresses-keys.npy")
        self.section_keys: NDArray[np.uint64] = map_array(folder / "sections-keys.npy")
        self.section_nodes: NDArray[np.int32] = map_array(folder / "sections-nodes.npy")

    def look_up(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """Articles (or codes) of many names, and the section a redirect among them asks for (0 for none)."""
        at, found = find_keys(self.keys, keys)
        articles = np.where(found, self.articles[at] if len(self.keys) else MISSING, MISSING).astype(np.int32)
        fragments = np.where(found, self.fragments[at] if len(self.keys) else 0, 0).astype(np.uint64)
        return articles, fragments

    def is_own(self, articles: NDArray[np.int32], keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Whether articles are named by their own title or address, not by a redirect."""
        own: NDArray[np.bool_] = (self.title_keys[articles] == keys) | (self.address_keys[articles] == keys)
        return own

    def look_up_sections(
        self, articles: NDArray[np.int32], fragments: NDArray[np.uint64]
    ) -> NDArray[np.int32]:
        """The block in which a section of an article begins; -1 where the article has no such section."""
        at, found = find_keys(self.section_keys, mix(articles, fragments))
        return np.where(found, self.section_nodes[at] if len(self.section_keys) else -1, -1).astype(np.int32)


def find_keys(
    table: NDArray[np.uint64], keys: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where keys stand in a sorted table, and whether they do."""
    if not len(table):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
    at = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return at, table[at] == keys


def mix(articles: NDArray[np.int32], fragments: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One key for (article, section)."""
    return fragments ^ (articles.astype(np.uint64) * _GOLDEN)


def first_of_each(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Marks the first entry of every key: of two pages with one title the first in the dump is kept."""
    mask = np.zeros(len(keys), np.bool_)
    mask[np.unique(keys, return_index=True)[1]] = True
    return mask


def write_names(
    folder: Path,
    *,
    titles: NDArray[np.uint64],
    addresses: NDArray[np.uint64],
    redirect_from: NDArray[np.uint64],
    redirect_to: NDArray[np.uint64],
    redirect_fragment: NDArray[np.uint64],
    skipped: NDArray[np.uint64],
    skipped_reason: NDArray[np.uint8],
    section_article: NDArray[np.int32],
    section_key: NDArray[np.uint64],
    section_node: NDArray[np.int32],
) -> tuple[NDArray[np.int32], Counter[str]]:
    """Write the tables of ``Names``; say where each redirect leads (article or code), and count the outcomes.

    An address of 0 is none. A name that is one page's address and another's title is the address.
    """
    addressed = np.flatnonzero(addresses)
    named = np.concatenate((addresses[addressed], titles))
    owner = np.concatenate((addressed, np.arange(len(titles)))).astype(np.int32)
    articles, fragments = follow_redirects(named, redirect_from, redirect_to, redirect_fragment, skipped)
    articles[articles >= 0] = owner[articles[articles >= 0]]
    keys = np.concatenate((named, redirect_from, skipped))
    values = np.concatenate((owner, articles, -1 - skipped_reason.astype(np.int32)))
    sections = np.concatenate((np.zeros(len(named), np.uint64), fragments, np.zeros(len(skipped), np.uint64)))
    keys, first = np.unique(
        keys, return_index=True
    )  # an article wins over a redirect, that over a page left out
    np.save(folder / "titles-keys.npy", titles)
    np.save(folder / "addresses-keys.npy", addresses)
    np.save(folder / "names-keys.npy", keys)
    np.save(folder / "names-articles.npy", values[first].astype(np.int32))
    np.save(folder / "names-fragments.npy", sections[first])
    keys, first = np.unique(mix(section_article, section_key), return_index=True)
    np.save(folder / "sections-keys.npy", keys)
    np.save(folder / "sections-nodes.npy", section_node[first])
    codes, counts = np.unique(articles[articles < 0], return_counts=True)
    outcomes = Counter(
        {OUTCOMES[-1 - code]: count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)}
    )
    outcomes["to an article"] = int((articles >= 0).sum())
    return articles, outcomes


def follow_redirects(
    titles: NDArray[np.uint64],
    source: NDArray[np.uint64],
    target: NDArray[np.uint64],
    fragment: NDArray[np.uint64],
    skipped: NDArray[np.uint64],
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Follow every chain of redirects to its end by pointer doubling: log2(n) rounds, so a loop cannot hang it."""
    order = np.argsort(titles, kind="stable")
    at, is_article = find_keys(titles[order], target)
    article = np.where(is_article, order[at] if len(titles) else 0, 0).astype(np.int32)
    by_source = np.argsort(source, kind="stable")
    at, is_redirect = find_keys(source[by_source], target)
    is_redirect &= ~is_article
    # A redirect that ends its chain points at itself.
    own = np.arange(len(source))
    jump = np.where(is_redirect, by_source[at] if len(source) else 0, own)
    for _ in range(max(1, len(source).bit_length())):
        jump = jump[jump]
    end_is_article = is_article[jump]
    is_skipped = find_keys(np.sort(skipped), target)[1]
    result = np.where(end_is_article, article[jump], np.where(is_skipped[jump], _LEFT_OUT, _NOWHERE))
    result = np.where(is_redirect[jump], _LOOP, result).astype(np.int32)
    # The first section named along the chain is the one meant; in practice only the last redirect names one.
    section = np.where(fragment != 0, fragment, fragment[jump])
    return result, np.where(result >= 0, section, 0).astype(np.uint64)
