"""The language model: one adapter for every endpoint that speaks Chat Completions."""
