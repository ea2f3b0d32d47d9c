"""Nine kinds of classifier behind one small protocol."""
