"""Is every printed statement true? Streams, an independent referee and the claims."""
