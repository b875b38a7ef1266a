"""Folders of Markdown: documentation, handbooks, vaults of notes."""
