"""Entity links: mentions that nobody linked get the article they mean (app. A.1)."""
