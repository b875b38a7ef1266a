"""What the scanner knows of HTML and extension tags, by lower-case name."""

import re

INLINE = """abbr b bdi bdo big cite code data del dfn em font i ins kbd mark nobr noinclude nowiki onlyinclude
    poem q rb rp rt rtc ruby s samp section small span strike strong sub sup time translate tt tvar u var
    wbr"""
BLOCK = """article aside blockquote caption center col colgroup div dl figcaption figure footer h1 h2 h3 h4 h5
    h6 header hr ol p table tbody td tfoot th thead tr ul"""
OTHER_EXTENSIONS = """categorytree charinsert graph hiero imagemap indicator inputbox mapframe maplink score
    templatedata templatestyles timeline"""

#: Tags whose content is no text, with the reason under which its links are counted.
DROPPED = {
    "ref": "in reference",
    "references": "in reference",
    "gallery": "in gallery",
    "includeonly": "in template",
    **dict.fromkeys(("math", "chem", "ce"), "in math"),
    **dict.fromkeys(("pre", "source", "syntaxhighlight"), "in code"),
    **dict.fromkeys(OTHER_EXTENSIONS.split(), "in extension"),
}

#: What a tag leaves behind in the text.
TRACES = {
    **dict.fromkeys((*INLINE.split(), *DROPPED), ""),
    **dict.fromkeys(BLOCK.split(), "\n\n"),
    **dict.fromkeys(("li", "dd", "dt"), "\n*"),
    "br": " ",
}


def _closer(name: str) -> re.Pattern[str]:
    """A pattern for a closing tag in any case, with a literal beginning so that the search for it is fast."""
    return re.compile("</" + "".join(f"[{letter}{letter.upper()}]" for letter in name) + r"\s?>")


#: Tags whose content is not scanned, with what finds their end.
CLOSERS = {name: _closer(name).search for name in (*DROPPED, "nowiki")}

#: An opening or closing tag: slash, name, attributes.
match_tag = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)(?![^\s/>])([^<>]*+)>").match
