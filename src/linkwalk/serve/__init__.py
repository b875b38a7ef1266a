"""The wiki over HTTP: a JSON API, the page that stands on it, and the limits that keep both answering.

boundary  limits, headers, what goes wrong    errors     one shape for everything wrong
schema    what is asked, what is answered     openapi    what else is said of both
reading   endpoints: what is there            walking    endpoints: walks, games
finding   endpoints: evidence                 api        what the endpoints share
events    a walk, click by click              runs       finished games
work      threads beside the event loop       metrics    what happened, in numbers
pages     the page, the API's page            app        all of it as one application
listening the socket                          server     the process that listens
workers   several of them                     mcp, tools the same for language models
"""
