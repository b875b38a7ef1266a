"""Where sentences end: a rule-based splitter for running text, linear and free of models.

A full stop ends a sentence when white space and a capital, a digit or an opening mark follow, unless it closes
an abbreviation or an initial. Chinese, Japanese, Burmese and Khmer sentences end at their stops, whatever follows.
"""

import re

# Begins with one set of characters, which the engine searches for at speed. Possessive, and never begun within a run
# of stops: a page of a million dots takes no longer than any other.
_WIDE = "。！？｡။។"  # stops that no blank follows
_STOPS = f"[.!?…।॥؟۔։።{_WIDE}]"
_CLOSING = "[\"'”’»)\\]」』）】〉》〕］｣]"
_SMALL = "a-z" + "".join(letter for letter in map(chr, range(0xB5, 0x590)) if letter.islower())
_CANDIDATE = re.compile(
    rf"""{_STOPS}(?<!{_STOPS}{{2}}){_STOPS}*+{_CLOSING}*+(?:(?=\s++["'“‘«(\[]*+[^\W_{_SMALL}])|
    (?<=[{_WIDE}])|(?:(?<=[{_WIDE}]{_CLOSING})|(?<=[{_WIDE}]{_CLOSING}{{2}}))(?!と|って))""",
    re.VERBOSE,
)
_WORD_BEFORE = re.compile(r"[^\s(\[\"'“‘«/–—-]+$")
_NEXT_WORD = re.compile(r"\s+[\"'“‘«(\[]*([^\W\d_]+)")
_NEXT_DIGIT = re.compile(r"\s+[\"'“‘«(\[]*\d")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
#: Abbreviations that stand before a name, so that a capital after them means nothing.
_BEFORE_NAME = frozenset(
    """mr mrs ms messrs dr prof rev fr hon st ste sts mt ft gen col maj capt lt cmdr adm sgt cpl pvt gov sen rep pres
    ed eds trans op cit al ca cf fl viz vs e.g i.e eg ie a.k.a dept univ assn bldg approx subsp ssp spp syn
    bzw nr bd hrsg geb gest z.b d.h u.a""".split()
)
#: Abbreviations that stand before a number; many are words as well, which may end a sentence before a capital.
_BEFORE_NUMBER = frozenset(
    """no nos vol vols pp p pg ch chap sec fig figs eq art arts c ca b d r v ave blvd rd est min max temp
    lat long var sp jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun usw av
    env""".split()
)
#: Abbreviations that end a sentence as often as not: what follows decides.
_EITHER = frozenset("inc ltd co corp bros jr sr etc".split())
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
    word = before[0].lower()
    if word in _BEFORE_NAME:
        return False
    if word in _BEFORE_NUMBER and _NEXT_DIGIT.match(text, end):
        return False
    if word in _EITHER or (_INITIALS.fullmatch(before[0]) and (len(word) > 1 or before[0].isupper())):
        following = _NEXT_WORD.match(text, end)
        return following is not None and following[1].lower() in _STARTERS
    return True
