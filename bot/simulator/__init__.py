"""A strict local Slack: Web API, Socket Mode, a control API for tests, and a page in the browser.

It imports nothing of Hermes, holds everything in memory, and refuses what Slack refuses.
"""
