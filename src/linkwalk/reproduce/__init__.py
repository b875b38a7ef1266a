"""The paper's tables and traces as commands: rows as data, one runner that goes on where it was stopped."""
