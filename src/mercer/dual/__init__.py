"""Given K, y, a loss and λ: find α (and b)."""
