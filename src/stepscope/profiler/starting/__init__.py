"""Ways into a recording: the environment, the launcher, the older class, trainers that own the loop."""
