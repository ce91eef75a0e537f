"""What the simulator sends to the app: event payloads and Socket Mode."""
