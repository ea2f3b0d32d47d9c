"""The embedded datasets, drawn procedurally with exact part masks."""
