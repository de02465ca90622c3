"""What findings would gain, estimated anew by replays of the recorded steps."""
