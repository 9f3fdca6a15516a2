"""Public conformance checks: what must hold for every kernel, Gram, solver and criterion, mercer's own and yours."""

from mercer.testing._kernel import check_kernel
from mercer.testing._linear import check_criterion, check_gram, check_solver

__all__ = ["check_criterion", "check_gram", "check_kernel", "check_solver"]
