"""A walker's map, learned from its own walks."""
