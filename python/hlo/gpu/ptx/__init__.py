"""PTX: parsed, decoded, interpreted."""
