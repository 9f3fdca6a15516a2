"""What the golden numbers are of: every estimator on small data, through public names only.

An *exact* case has its hyper-parameters given (or an iteration brought to its end): the numbers must come out again up
to rounding. A *search* case learns them: what it ends with must be as good, and where it ends in the same place it must
predict the same. A *chance* case draws random numbers, and is compared up to the chance that is in them.
"""

from golden import machines, processes, ridge

CASES = {**ridge.CASES, **processes.CASES, **machines.CASES}
