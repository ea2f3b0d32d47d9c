"""Simulated raters: the demo's source of votes, by a documented generative model.

1. :mod:`~.quality` *measures* each explanation: overlap with the parts of the predicted class,
   spread, whether the prediction is right, and how far the explanation moves under the light and
   the strong perturbation. It turns these into a latent quality for each sample and question.
2. :mod:`~.raters` draws annotators: age, sex, country, and from them leniency, noise and use of the
   scale. For annotator a, sample s and question q their stars are ::

       latent = scale_a * (quality_sq + preference_sq) + leniency_a + noise_a * noise_q * normal
       stars  = 1 + number of thresholds below latent

3. Descriptions and boxes name what is to be seen in the image, rankings follow Plackett-Luce.

More stars always mean more of what the question asks for. Q5 and Q6 ask how far the explanation
*has changed*, so a steady explanation gets few stars there, as in the published study.
Every effect is a parameter (:class:`pasta.studies.ratings.settings.SimulationParams`), and what was
drawn is handed back as the truth, so that an analysis can be tested on finding it.
"""
