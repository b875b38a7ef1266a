"""The wiki over HTTP: a JSON API, the page that stands on it, and the limits that keep both answering.

schema    what is asked, what is answered     limits     how much of it
written   the wiki's dataclasses as JSON      tools      what a language model may do
errors    one shape for everything wrong      work       threads beside the event loop
reading   endpoints: what is there            walking    endpoints: walks, games, evidence
api       what the endpoints share            described  what else they may answer
events    a walk, click by click              runs       finished games
metrics   what happened, in numbers           examples   of the wiki that is served
pages     the page, the API's page            app        all of it as one application
patient   HTTP with limits of its own         server     the process that listens
mcp       the same for language models
"""
