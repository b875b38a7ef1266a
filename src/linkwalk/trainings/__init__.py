"""Trainings as jobs in a workspace: what each follows from, where it goes, and how a stopped one goes on.

What is learned, and how, is in ``linkwalk.learn``. A job that the same graph, embeddings and settings have done before
is not done again, one that was stopped goes on, and what it makes takes its place in one step.
"""
