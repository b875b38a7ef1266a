"""Which words a text has: small letters, no accents, stems of one language. Blocks and queries are read alike."""

from typing import Any

from linkwalk.embed.text import reads_english
from linkwalk.errors import InputError
from linkwalk.graph.store import Graph
from linkwalk.scripts import SIGN

ENGLISH, NONE, CJK = "english", "none", "cjk"
LANGUAGES = (
    *"arabic danish dutch english finnish french german greek hungarian italian norwegian portuguese romanian".split(),
    *"russian spanish swedish tamil turkish".split(),
)
"""Languages that tantivy has a (Snowball) stemmer for."""
_CODES = dict(
    zip(
        "ar da nl en fi fr de el hu it no pt ro ru es sv ta tr".split(),
        LANGUAGES,
        strict=True,
    )
) | {"simple": "english", "nb": "norwegian", "nn": "norwegian", "mo": "romanian"}
_UNSPACED_CODES = frozenset("zh yue wuu gan hak nan cdo lzh ja th lo km my".split())
STEMS = (*LANGUAGES, CJK, NONE)
_SAMPLE = 256  # blocks
_LONGEST = 40  # bytes; what is longer is no word but an address or a formula
# Letters of scripts without blanks stand alone, other letters and digits make words.
_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_CHARACTERS = rf"[{_ALONE}]|[\p{{L}}\p{{N}}\p{{M}}--[{_ALONE}]]+"


def engine() -> Any:
    """The search engine, or what to install."""
    try:
        import tantivy
    except ImportError:
        raise InputError("tantivy is not installed: pip install 'linkwalk[find]'") from None
    return tantivy


def check_stem(stem: str) -> str:
    """A language that can be stemmed, ``cjk`` or ``none``; anything else is an error that lists them."""
    if stem not in STEMS:
        raise InputError(f"no stems of {stem!r}: choose one of {', '.join(STEMS)}")
    return stem


def stem_for(graph: Graph) -> str:
    """What a wiki's words are cut to: by the language that its source states or, where it states none, by its text."""
    if graph.language:
        return stem_of(graph.language)
    if reads_english(graph)[0]:
        return ENGLISH
    sample = "".join(graph.texts.slice(0, min(graph.nodes, _SAMPLE)))
    return CJK if 2 * len(SIGN.findall(sample)) > len(sample) else NONE


def stem_of(language: str) -> str:
    """The stems that texts in a language, a code such as ``pt-BR``, are indexed by."""
    code = language.lower().replace("_", "-").partition("-")[0]
    return CJK if code in _UNSPACED_CODES else _CODES.get(code, NONE)


def analyser(stem: str) -> Any:
    """What cuts a text into words.

    ``none`` leaves words as they are; ``cjk`` is for scripts that write no blanks, where ``none`` would take a whole
    clause for one word: each of their characters is a word, other scripts' words stay whole.
    """
    found = engine()
    fold, lower = found.Filter.ascii_fold(), found.Filter.lowercase()
    cut = found.Tokenizer.regex(_CHARACTERS) if stem == CJK else found.Tokenizer.simple()
    builder = found.TextAnalyzerBuilder(cut).filter(found.Filter.remove_long(_LONGEST)).filter(lower)
    if stem in (CJK, NONE):
        return builder.filter(fold).build()
    stems = found.Filter.stemmer(stem)
    # English has its accents from elsewhere ("résumés" is "resumes"); other languages' rules of stemming need theirs.
    steps = (fold, stems) if stem == ENGLISH else (stems, fold)
    for step in steps:
        builder = builder.filter(step)
    return builder.build()
