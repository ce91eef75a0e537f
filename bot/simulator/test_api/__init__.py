"""How tests and the page use a simulator: control API, change feed, failures."""
