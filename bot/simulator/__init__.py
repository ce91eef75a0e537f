"""A strict local Slack: Web API, Socket Mode, a control API for tests, and a page in the browser.

It imports nothing else of Hermes, keeps everything in memory, and refuses what Slack refuses.
"""
