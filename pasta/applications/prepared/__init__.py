"""What applications ask the score about: made once, without a scorer.

Towers, maps, masks and what classifiers and encoders say of them take nearly all the time of the
applications and do not change when new votes arrive. They are stages of their own; what is left to
the stage that uses the score takes seconds.
"""
