"""What Slack accepts: limits, Block Kit rules, typed text."""
