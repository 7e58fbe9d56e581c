"""How `MinRiskClassifier` learns; `training.py` reads as an outline, `defaults.py` has every number.

=================================  ==============================================================
question                           file
=================================  ==============================================================
What happens, in which order?      `training`
Which kinds of members are there?  `kinds`: a file each
How many rounds?                   `cross_fitting`
How many in a budget of time?      `budget`
How sure are probabilities?        `calibration`
Who gets which share?              `blending`
Which settings follow the data?    `sizes`
What is the model?                 `average`
What do members see?               `columns`, `directions`, `landmarks`, `folds`
What do costs per row teach?       `cost_regression`
=================================  ==============================================================
"""
