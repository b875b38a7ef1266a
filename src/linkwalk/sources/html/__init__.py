"""Pages of HTML, from a folder, a ZIM file or a web archive."""
