"""Runs a command that must fail the way a tool fails: exit status 1 or 2, no traceback, no
signal.
"""

import subprocess
import sys

finished = subprocess.run(sys.argv[1:], stderr=subprocess.PIPE, check=False)
sys.stderr.buffer.write(finished.stderr)
if finished.returncode not in (1, 2):
    sys.exit(f"expected exit status 1 or 2, found {finished.returncode}")
if b"Traceback (most recent call last)" in finished.stderr:
    sys.exit("the tool ended with a traceback")
