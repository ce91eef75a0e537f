"""The language model, behind any server with the Chat Completions API."""
