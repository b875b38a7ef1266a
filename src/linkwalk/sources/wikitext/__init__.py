"""Wikitext: MediaWiki exports become pages, and pages plain text with links and headings (app. A.1)."""
