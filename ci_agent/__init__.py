"""A GitHub Actions agent that stays safe with a hostile model."""

__all__ = ["__version__"]

__version__ = "0.1.0"
