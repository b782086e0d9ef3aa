"""`served_tool.py SOCKET MODULE ARGUMENTS...` is `python -m MODULE ARGUMENTS...`, in a fork of
`tool_server.py`.
"""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.connect(sys.argv[1])
    request = {
        "arguments": sys.argv[2:],
        "directory": os.getcwd(),
        "environment": dict(os.environ),
    }
    socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2])
    status = server.recv(16)
sys.exit(int(status) if status else f"{sys.argv[2]} ended without an exit status")
