"""Games: people who clicked from one article to another, agents on the same pairs, and files that keep their runs."""
