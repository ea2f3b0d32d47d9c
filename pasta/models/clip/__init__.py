"""The vision-language encoder behind zero-shot classification and the CLIP concept models."""
