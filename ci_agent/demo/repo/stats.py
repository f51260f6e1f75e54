"""Small statistics helpers."""


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def spread(values: list[float]) -> float:
    return max(values) - min(values)
