"""Suites: every table that a report needs, from tidy frames; what is missing is said."""
