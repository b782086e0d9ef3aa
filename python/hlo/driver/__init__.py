"""The driver: pipelines, compilation, and what the command-line tools do."""
