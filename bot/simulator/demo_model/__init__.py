"""The demonstration model of `hermes dev`: a Chat Completions endpoint whose answers depend on keywords."""
