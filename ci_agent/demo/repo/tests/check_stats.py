from stats import mean


def test_mean_of_two_values() -> None:
    assert mean([1.0, 3.0]) == 2.0
