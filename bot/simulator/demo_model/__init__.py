"""The demonstration model of `hermes dev`: an endpoint that speaks Chat Completions and answers to keywords."""
