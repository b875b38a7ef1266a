"""A dump becomes pages, blocks and links (app. A.1)."""
