"""BLAS by pointers, blocked factors and inverses, recorded programs: what the solvers run on, and nobody else."""
