"""Public conformance checks: what must hold for every kernel, Gram, solver, loss and criterion, ours and yours."""

from mercer.testing._linear import check_criterion, check_gram, check_solver
from mercer.testing._loss import check_loss
from mercer.testing._promises import check_kernel

__all__ = ["check_criterion", "check_gram", "check_kernel", "check_loss", "check_solver"]
