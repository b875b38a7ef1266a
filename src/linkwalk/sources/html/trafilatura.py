"""A page's own text as ``trafilatura`` finds it, where the rule of ``html.text`` is not wanted.

It gives the text as XML, in which links are ``ref`` elements. Anchors are lost on the way. It is an extra, imported
where it is used.
"""

import logging
import re
from copy import deepcopy
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

from linkwalk.parts import import_library
from linkwalk.sources.markdown.html import HtmlInText
from linkwalk.sources.page_text import PageText
from linkwalk.sources.source import ReadConfig

#: Its elements as the tags of HTML that mean the same.
_TAGS = dict(
    pair.split(":")
    for pair in """row:tr cell:td ref:a item:li quote:blockquote list:ul lb:hr p:p table:table figure:figure div:div
    main:main""".split()
)
_HEADING = re.compile(r"h[1-6]")


def trafilatura() -> Any:
    """The package, or a line that says how to get it."""
    found = import_library("trafilatura", "trafilatura", "'linkwalk[trafilatura]'")
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # what it finds nothing in, the ledger has
    return found


@lru_cache(maxsize=1)
def _settings() -> Any:
    """Its usual settings, but for short pages: for them it has words without links, of menus as well."""
    from trafilatura.settings import DEFAULT_CONFIG

    settings = deepcopy(DEFAULT_CONFIG)
    settings["DEFAULT"]["MIN_EXTRACTED_SIZE"] = "1"
    return settings


def extract(html: str, config: ReadConfig, text: PageText) -> int:
    """Say a page's own text; how many links were met."""
    found = trafilatura().extract(
        html,
        output_format="xml",
        include_links=True,
        include_comments=False,
        include_tables=config.tables is not False,
        config=_settings(),
    )
    reader = _XmlReader(text, config)
    if found:
        parser = ElementTree.XMLParser(target=reader)
        parser.feed(found)
        parser.close()
    return reader.links


class _XmlReader:
    """Takes the elements as they come."""

    def __init__(self, text: PageText, config: ReadConfig) -> None:
        self.text, self.keep_code = text, config.code
        self.html = HtmlInText(text, tables=True, code=config.code)
        self.links = 0
        self.code: list[str] | None = None
        self.linked = False  # the last thing was a link: the blank behind it is lost

    def start(self, tag: str, given: dict[str, str]) -> None:
        """An element begins."""
        if tag == "head":
            level = _HEADING.search(given.get("rend", ""))
            self.html.open(level[0] if level else "h2", {})
        elif tag == "code":
            self.code = []
        elif tag == "ref" and "target" in given:
            if self.linked:
                self.text.say(" ")
            self.links += 1
            self.text.open_link(given["target"])
        elif tag in _TAGS:
            self.html.open(_TAGS[tag], {})
        self.linked = False

    def data(self, words: str) -> None:
        """Something is said."""
        if self.code is not None:
            self.code.append(words)
        elif words:
            self.text.say(words)
            self.linked = False

    def end(self, tag: str) -> None:
        """An element ends; code within a line is said, a block of it only where code is kept."""
        if tag == "head":
            self.text.end_heading()
        elif tag == "code":
            code = "".join(self.code or ())
            self.code = None
            if "\n" not in code:
                self.text.say(code)
            elif self.keep_code:
                self.text.end_line()
                self.text.say_lines(code)
        elif tag in _TAGS:
            self.html.close(_TAGS[tag])
            self.linked = tag == "ref"
