"""The front end: tracing Python functions of arrays into `hlo`, and calling what comes out."""
