"""Posteriors: of regression in closed form, of classification in four ways, and samplers with their diagnostics."""
