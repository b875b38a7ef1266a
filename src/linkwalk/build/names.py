"""Titles, redirects and sections of the whole dump, as sorted tables of 64-bit keys that every worker maps.

This is what grows with the dump: 20 bytes per title or redirect, 12 per section heading. What stands beside keys has
one entry more than there are keys, the last: what a key that is not there comes to.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from linkwalk.arrays import Bools, Int32s
from linkwalk.build.tables import Arrays, Keys, Tables, ends_of_chains, find_keys, write_tables
from linkwalk.graph.hashes import GOLDEN
from linkwalk.sources.documents import Counts
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


def count_outcomes(codes: Int32s, prefix: str = "") -> Counts:
    """How many names came to nothing, by the reason that their codes stand for; articles among them are left alone."""
    found, counts = np.unique(codes[codes < 0], return_counts=True)
    reasons = (prefix + OUTCOMES[-1 - code] for code in found.tolist())
    return Counter(dict(zip(reasons, counts.tolist(), strict=True)))


@dataclass(frozen=True)
class Names(Tables):
    """Key of a name -> its article, or a negative code that says why there is none."""

    name_keys: Keys
    name_articles: Int32s
    name_fragments: Keys
    title_keys: Keys
    address_keys: Keys
    section_keys: Keys
    section_nodes: Int32s

    def look_up(self, keys: Keys) -> tuple[Int32s, Keys]:
        """Articles (or codes) of many names, and the section a redirect among them asks for (0 for none)."""
        at = find_keys(self.name_keys, keys)
        return self.name_articles[at], self.name_fragments[at]

    def is_own(self, articles: Int32s, keys: Keys) -> Bools:
        """Whether articles are named by their own title or address, not by a redirect."""
        own: Bools = (self.title_keys[articles] == keys) | (self.address_keys[articles] == keys)
        return own

    def look_up_sections(self, articles: Int32s, fragments: Keys) -> Int32s:
        """The block in which a section of an article begins; -1 where the article has no such section."""
        return self.section_nodes[find_keys(self.section_keys, _key(articles, fragments))]


def _key(articles: Int32s, fragments: Keys) -> Keys:
    """One key for (article, section)."""
    return fragments ^ (articles.astype(np.uint64) * GOLDEN)


def first_of_each(keys: Keys) -> Bools:
    """Marks the first entry of every key: of two pages with one title the first in the dump is kept."""
    mask = np.zeros(len(keys), np.bool_)
    mask[np.unique(keys, return_index=True)[1]] = True
    return mask


def write_names(folder: Path, columns: Arrays) -> Counts:
    """Write the tables of ``Names`` by the shards' columns, all together; count where the redirects lead.

    An address of 0 is none. A name that is one page's address and another's title is the address; an article wins over
    a redirect, that over a page left out.
    """
    titles, addresses = columns["article_key"], columns["article_address_key"]
    source, skipped = columns["redirect_from"], columns["skipped_key"]
    addressed = np.flatnonzero(addresses)
    named = np.concatenate((addresses[addressed], titles))
    owner = np.concatenate((addressed, np.arange(len(titles)))).astype(np.int32)
    articles, fragments = follow_redirects(
        named, source, columns["redirect_to"], columns["redirect_fragment"], skipped
    )
    outcomes = count_outcomes(articles)
    outcomes["to an article"] = int((articles >= 0).sum())
    articles[articles >= 0] = owner[articles[articles >= 0]]
    keys, first = np.unique(np.concatenate((named, source, skipped)), return_index=True)
    values = np.concatenate((owner, articles, -1 - columns["skipped_reason"].astype(np.int32)))
    sections = np.zeros(len(values), np.uint64)
    sections[len(named) : len(named) + len(source)] = fragments
    section_keys, begin = np.unique(_key(columns["anchor_article"], columns["anchor_key"]), return_index=True)
    write_tables(
        folder,
        title_keys=titles,
        address_keys=addresses,
        name_keys=keys,
        name_articles=np.append(values[first], np.int32(MISSING)),
        name_fragments=np.append(sections[first], np.uint64(0)),
        section_keys=section_keys,
        section_nodes=np.append(columns["anchor_block"][begin], np.int32(-1)),
    )
    return outcomes


def follow_redirects(
    titles: Keys, source: Keys, target: Keys, fragment: Keys, skipped: Keys
) -> tuple[Int32s, Keys]:
    """Follow every chain of redirects to its end: an article, or a code, and the section that is asked for there."""
    order, by_source = np.argsort(titles, kind="stable"), np.argsort(source, kind="stable")
    at = find_keys(titles[order], target)
    article = np.append(order, -1)[at]
    step = find_keys(source[by_source], target)
    goes_on = (step >= 0) & (article < 0)
    end = ends_of_chains(np.where(goes_on, np.append(by_source, -1)[step], np.arange(len(source))))
    is_skipped = find_keys(np.sort(skipped), target) >= 0
    result = np.where(article >= 0, article, np.where(is_skipped, _LEFT_OUT, _NOWHERE))
    result = np.where(goes_on, _LOOP, result).astype(np.int32)[end]
    # The first section named along the chain is the one meant; in practice only the last redirect names one.
    section = np.where(fragment != 0, fragment, fragment[end])
    return result, np.where(result >= 0, section, 0).astype(np.uint64)
