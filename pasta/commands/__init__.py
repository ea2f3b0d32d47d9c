"""The `pasta` commands, one file a group; heavy imports stand inside the functions."""
