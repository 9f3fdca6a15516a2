"""BLAS by pointers, blocked factors and inverses: what the solvers run on, and nobody else."""
