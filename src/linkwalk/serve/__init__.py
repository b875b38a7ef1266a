"""The wiki over HTTP: a JSON API, the page that stands on it, and the limits that keep both answering.

schema    what is asked and answered          limits    how much of it
errors    one shape for everything wrong      work      threads beside the event loop
api       the endpoints                       events    a walk, click by click
runs      finished games                      metrics   what happened, in numbers
app       all of it as one application        server    the process that listens
"""
