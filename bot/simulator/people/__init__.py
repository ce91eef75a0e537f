"""What people do in the simulated Slack, and what they see of it."""
