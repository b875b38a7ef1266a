"""Documents become a graph: blocks, links, entity links, in five stages (app. A.1)."""
