"""What graphs are built from: dumps, folders and archives become documents, text with links and headings (app. A.1)."""
