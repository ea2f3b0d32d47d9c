"""The study of human attention: what people mark for the class, and how good they find maps."""
