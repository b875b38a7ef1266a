"""What a wiki says about itself: namespaces, language, and how its titles are written.

A link's meaning depends on the site: ``[[Image:x.jpg]]`` shows a picture, ``[[Kategoreja:x]]`` files the page under a
category, ``[[de:x]]`` points at another language's article, ``[[2001: A Space Odyssey]]`` is an article.
"""

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import unquote

from linkwalk.graph.store import nfc

ARTICLE, FILE, CATEGORY, OTHER_NAMESPACE, INTERWIKI, INTERLANGUAGE = range(6)

#: Namespaces every MediaWiki site understands, whatever its language.
_CANONICAL = """-2 media, -1 special, 1 talk, 2 user, 3 user talk, 4 project, 5 project talk, 4 wikipedia,
    5 wikipedia talk, 4 wp, 5 wt, 6 file, 6 image, 7 file talk, 7 image talk, 8 mediawiki, 9 mediawiki talk,
    10 template, 11 template talk, 12 help, 13 help talk, 14 category, 15 category talk, 100 portal, 101 portal talk,
    108 book, 118 draft, 710 timedtext, 828 module, 829 module talk"""
CANONICAL = {name: int(key) for key, name in (entry.split(maxsplit=1) for entry in _CANONICAL.split(","))}

#: Prefixes of sister projects and other sites in MediaWiki's default interwiki map.
INTERWIKI_PREFIXES = frozenset(
    """b betawiki botwiki bugzilla c cache commons d dict doi dmoz f foldoc foundation google imdbname imdbtitle
    incubator iso jargon m mail meta metawikipedia mw mwod n nost oldwikisource phab q rfc s senseis sep species
    sulutil tools translatewiki usemod v voy w wikia wikibooks wikidata wikimedia wikinews wikiquote wikisource
    wikispecies wikiversity wikivoyage wikt wiktionary wmf""".split()
)

#: Codes of the language editions: a plain ``[[code:Title]]`` is an interlanguage link and shows nothing.
LANGUAGES = frozenset(
    """aa ab ace ady af ak als am an ang ar arc ary arz as ast atj av avk awa ay az azb ba ban bar bat-smg bcl be
    be-tarask be-x-old bg bh bi bjn bm bn bo bpy br bs bug bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb
    closed-zh-tw co cr crh cs csb cu cv cy cz da de din diq dk dsb dty dv dz ee el eml en eo epo es et eu ext
    fa ff fi fiu-vro fj fo fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor got gu gv ha hak haw he hi
    hif ho hr hsb ht hu hy hyw hz ia id ie ig ii ik ilo inh io is it iu ja jam jbo jp jv ka kaa kab kbd kbp kg
    ki kj kk kl km kn ko koi kr krc ks ksh ku kv kw ky la lad lb lbe lez lfn lg li lij lld lmo ln lo lrc lt
    ltg lv mai map-bms mdf mg mh mhr mi min mk ml mn mnw mo mr mrj ms mt mus mwl my myv mzn na nah nan nap nb
    nds nds-nl ne new ng nl nn no nov nqo nrm nso nv ny oc olo om or os pa pag pam pap pcd pdc pfl pi pih pl
    pms pnb pnt ps pt qu rm rmy rn ro roa-rup roa-tara ru rue rw sa sah sat sc scn sco sd se sg sh shn shy si
    simple sk sl sm smn sn so sq sr srn ss st stq su sv sw szl szy ta tcy te tet tg th ti tk tl tn to tpi tr
    ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo wa war wo wuu xal xh xmf yi yo yue za zea zh
    zh-cfr zh-classical zh-cn zh-min-nan zh-tw zh-yue zu""".split()
)


@dataclass(frozen=True, kw_only=True)
class Site:
    """One wiki: its name, language, namespaces and title case, as ``<siteinfo>`` gives them."""

    name: str = ""
    dbname: str = ""
    language: str = ""
    """A code such as ``de``; empty where nobody says."""
    first_letter: bool = True
    """Titles begin with a capital, so ``[[comet]]`` and ``[[Comet]]`` are one page."""
    literal: bool = False
    """Titles and addresses are what they are, paths say: no namespaces, and nothing in them stands for another sign."""
    namespaces: Mapping[str, int] = field(default_factory=dict)
    """The site's own namespace names, as written, to their numbers."""

    @cached_property
    def prefixes(self) -> dict[str, int]:
        """Lower-case namespace prefix -> namespace number, canonical names included."""
        own = {name.replace("_", " ").lower(): key for name, key in self.namespaces.items() if name}
        return {**CANONICAL, **own}

    def classify(self, target: str) -> tuple[int, str]:
        """Say what a link target is (``ARTICLE``, ``FILE``, ...), with the target less its leading colon.

        A leading colon turns a file, category or interlanguage link into an ordinary visible link to that page.
        """
        if self.literal:
            return ARTICLE, target
        target = target.strip()
        shown = target.startswith(":")
        if shown:
            target = target[1:].lstrip()
        prefix, colon, _ = target.partition(":")
        if not colon:
            return ARTICLE, target
        prefix = " ".join(prefix.replace("_", " ").split()).lower()
        key = self.prefixes.get(prefix)
        if key is not None and key != 0:
            if not shown and key == 6:
                return FILE, target
            if not shown and key == 14:
                return CATEGORY, target
            return OTHER_NAMESPACE, target
        if prefix in LANGUAGES and prefix != self.language:
            return (INTERWIKI if shown else INTERLANGUAGE), target
        if prefix in INTERWIKI_PREFIXES:
            return INTERWIKI, target
        return ARTICLE, target

    def normalise(self, title: str) -> str:
        """The one spelling of a title: entities decoded, underscores and runs of space made one, first letter up."""
        if self.literal:
            return nfc(" ".join(title.split()))
        if "&" in title:
            title = html.unescape(title)
        if "%" in title:
            title = unquote(title)
        title = " ".join(title.replace("_", " ").split())
        if self.first_letter and title[:1].islower():
            title = title[0].upper() + title[1:]
        return title
