"""Numbers that papers print, beside what this project measures."""
