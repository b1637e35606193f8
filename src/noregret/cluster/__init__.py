"""Learning over many shards of rows, at the workers of one machine or of a cluster."""
