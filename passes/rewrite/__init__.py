"""What passes on `hlo` share: building ops, reading their types, replacing and inlining them."""
