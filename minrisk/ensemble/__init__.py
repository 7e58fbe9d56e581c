"""How `MinRiskClassifier` learns; `training.py` reads as an outline, `defaults.py` has every number and formula.

==========================================  ==========================================
question                                    file
==========================================  ==========================================
What happens, in which order?               `training`
Which settings follow the data?             `defaults`
What do members see, in which folds?        `table`, `folds`
What is a member, and how many rounds?      `members`
Which kinds of members are there?           `trees`, `logistic`, `smooth`
How sure are probabilities?                 `calibration`
Who gets which share, and what is a model?  `ensemble`
What do costs per row teach?                `cost_regression`
How is a model finished?                    `finishing`
How do new rows refresh a model?            `refitting`
Time, interrupts, progress, memory?         `driver`
==========================================  ==========================================

Nine nouns are enough to read it: a `Driver` surrounds the training of a `Table` of rows by `Settings`. Each surrogate
is a `Task`, for which each `Kind` has a `Member` for each fold. Members that were trained side by side are a
`CrossFit`, kinds with their weights an `Ensemble`, and what costs per row taught is a `CostRegression`.
"""
