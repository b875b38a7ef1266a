"""Where sentences end: a rule-based splitter for running text, linear and free of models.

A full stop ends a sentence when white space and a capital, a digit or an opening mark follow, unless it closes
an abbreviation or an initial.
"""

import re

# Possessive, and never begun within a run of stops: a page of a million dots takes no longer than any other.
_CANDIDATE = re.compile(
    r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?=\s++["'“‘«(\[]*+[^\W_a-z])|(?<![。！？])[。！？]++[」』”’)]*+"""
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘«/–—-]+$")
_NEXT_WORD = re.compile(r"\s+[\"'“‘«(\[]*([^\W\d_]+)")
#: Abbreviations that stand before a name or a number, so that a capital or a digit after them means nothing.
_ABBREVIATIONS = frozenset(
    """mr mrs ms messrs dr prof rev fr hon st ste sts mt ft gen col maj capt lt cmdr adm sgt cpl pvt gov sen rep pres
    jr sr bros no nos vol vols pp p pg ch chap sec fig figs eq ed eds trans op cit art arts al ca c cf fl b d r viz vs v
    e.g i.e eg ie a.k.a inc ltd co corp dept univ assn bldg ave blvd rd approx est min max temp lat long var subsp ssp
    spp sp gen syn jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    bzw nr bd hrsg geb gest z.b d.h u.a usw av env""".split()
)
#: Words that begin a sentence far more often than a name: after "World War I." or "U.S." they settle the matter.
_STARTERS = frozenset(
    """the a an it its he she they his her their this that these those in on at by from for with as after before during
    when while since until although though however but and or if there some many most several other both each one
    two to of we you i such another under over between according because despite due""".split()
)


def sentence_ends(text: str) -> list[int]:
    """Offsets at which the sentences of one paragraph end, the last one ``len(text)``."""
    ends = []
    for match in _CANDIDATE.finditer(text):
        end = match.end()
        if match[0][0] == "." and match[0] == "." and not _closes(text, match.start(), end):
            continue
        ends.append(end)
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return ends


def _closes(text: str, stop: int, end: int) -> bool:
    """Whether a single full stop at ``stop`` ends a sentence rather than an abbreviation."""
    before = _WORD_BEFORE.search(text, max(0, stop - 24), stop)
    if before is None:
        return True
    word = before[0]
    if word.lower() in _ABBREVIATIONS:
        return False
    if (len(word) == 1 and word.isalpha() and word.isupper()) or re.fullmatch(
        r"(?:[^\W\d_]\.)+[^\W\d_]", word
    ):
        following = _NEXT_WORD.match(text, end)
        return following is not None and following[1].lower() in _STARTERS
    return True
