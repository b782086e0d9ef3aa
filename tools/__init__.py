"""The command-line tools: argument parsing only; what they do is in `hlo.driver`."""
