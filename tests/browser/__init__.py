"""The page in a browser: Debian's Chromium, driven by Playwright, before a server of its own."""
