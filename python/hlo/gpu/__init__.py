"""NVIDIA GPUs: what is launched (`plan`), and what can launch it."""
