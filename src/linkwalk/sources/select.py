"""Which pages become articles: categories, lists, disambiguation pages and stubs stay out (app. A.1)."""

import re

from linkwalk.scripts import UNSPACED
from linkwalk.sources.documents import Wikitext

#: Reasons a page is left out, in the order they are tried; the position is the code kept for links to such a page.
REASONS = (
    "redirect",
    "category",
    "other namespace",
    "not wikitext",
    "no title",
    "disambiguation",
    "list",
    "short",
    "duplicate title",
)

_CATEGORY = 14
_UNSPACED, _UNSPACED_WEIGHT = re.compile(f"[{UNSPACED}]"), 3
_REDIRECT = re.compile(
    r"""\s*\#(?:redirect|redirection|weiterleitung|redirecci[oó]n|rinvia|doorverwijzing|redirecionamento|patrz|
    przekieruj|tam|перенаправление|перенапр|перенаправлення|omdirigering|omstilling|ohjaus|uudelleenohjaus|
    y[oö]nlendir(?:me)?|p[āa]radres[āa]cija|peradresavimas|suuna|[aá]tir[aá]ny[ií]t[aá]s|redirecteaza|přesměruj|
    presmeruj|preusmeritev|đổi|تحويل|ہدایت|הפניה|転送|リダイレクト|重定向|넘겨주기)\b[^\[\n]{0,10}
    \[\[\s*:?\s*([^\[\]|{}<>\n]+)""",
    re.IGNORECASE | re.VERBOSE,
)
_DISAMBIGUATION_TITLE = re.compile(
    r"\((?:disambiguation|Begriffsklärung|homonymie|desambiguación|значения|zeimeibu škiršona)\)$",
    re.IGNORECASE,
)
_DISAMBIGUATION_MARK = re.compile(
    r"""__DISAMBIG__|\{\{\s*(?:disambig\w*|dab|hndis|geodis|hospitaldis|schooldis|mathdab|roaddis|numberdis|surname
    |given[ ]name|begriffsklärung|bkl|homonymie|desambiguación|desambig\w*|disambigua|doorverwijspagina
    |ujednoznacznienie|неоднозначность|zeimeibu[ ]škiršona|4LA|4CC|3CC|2CC|letter-?[ ]?disambig\w*|[TL]LA)\s*[|}]""",
    re.IGNORECASE | re.VERBOSE,
)
_MAY_REFER = re.compile(
    r"^.{1,200}\b(?:may|can|could|might)\s+(?:also\s+|either\s+)?(?:refer|mean|stand\s+for)\b.{0,60}:\s*$"
)
_LIST_TITLE = re.compile(
    r"^(?:Lists? of|Index of|Outline of|Listes? de|Liste der|Liste von|Lista de)\s", re.IGNORECASE
)


def redirect_target(page: Wikitext) -> str | None:
    """Where a redirect page leads, with its ``#Section`` if the text has one; None for other pages."""
    match = _REDIRECT.match(page.text)
    if match is None:
        return page.redirect
    written = match[1].strip()
    return written if page.redirect is None or "#" in written else page.redirect


def reason_by_source(page: Wikitext, *, keep_lists: bool) -> str | None:
    """Why a page is left out, as far as its title and wikitext tell; None if nothing speaks against it."""
    if page.namespace:
        return "category" if page.namespace == _CATEGORY else "other namespace"
    if page.model != "wikitext":
        return "not wikitext"
    if page.title.strip() and _DISAMBIGUATION_MARK.search(page.text):
        return "disambiguation"
    return reason_by_title(page.title, keep_lists=keep_lists)


def reason_by_title(title: str, *, keep_lists: bool) -> str | None:
    """Why a page of a wiki is left out, as far as its title tells."""
    if not title.strip():
        return "no title"
    if _DISAMBIGUATION_TITLE.search(title):
        return "disambiguation"
    if not keep_lists and _LIST_TITLE.match(title):
        return "list"
    return None


def reason_by_text(text: str, *, min_chars: int, wiki: bool = True) -> str | None:
    """Why a page, be it a wiki's or not, is left out, as far as its plain text tells."""
    if wiki and _MAY_REFER.match(text[:300].partition("\n")[0]) and "\n" in text:
        return "disambiguation"
    if len(text) < max(1, min_chars) and not (text and _weight(text) >= min_chars):
        return "short"  # an article has at least one block
    return None


def _weight(text: str) -> int:
    """How many letters a text has: a character of a script without blanks says as much as a few of others."""
    return len(text) + (_UNSPACED_WEIGHT - 1) * len(_UNSPACED.findall(text))
