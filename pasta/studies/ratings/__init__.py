"""The rating study: its protocol and plan, votes and where they come from, labels."""
