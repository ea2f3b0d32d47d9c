"""What the predicted score is good for: to choose, place, steer and tune explanations.

Shared by all of them: :mod:`scores` (predicted stars of every stored explanation, and which images
the scorer has not seen), :mod:`simulated_judge` (the simulated raters' true quality, also of new
maps) and :mod:`paired` (differences on the same images with intervals). :mod:`run` is what the
stages call.
"""
