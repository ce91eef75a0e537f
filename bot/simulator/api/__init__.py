"""The Web API: methods, arguments, faults and rate limits, response URLs."""
