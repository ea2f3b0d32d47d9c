"""The analyses of the rating study: every table that its reports need; gaps are listed too."""
