"""The fake's own time: fixed at the start, one second further at each write, so that orders are stable."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that only tests and writes move."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    @property
    def now(self) -> datetime:
        """The present moment of the fake."""
        return self._now

    def set(self, moment: datetime | str) -> None:
        """Jump to a moment; text is ISO 8601, `Z` allowed."""
        self._now = datetime.fromisoformat(moment) if isinstance(moment, str) else moment

    def advance(self, seconds: float) -> None:
        """Move forward."""
        self._now += timedelta(seconds=seconds)

    def stamp(self) -> str:
        """The present moment as GitHub writes it."""
        return stamp(self._now)

    def tick(self) -> str:
        """Move one second and give the new moment as text."""
        self.advance(1)
        return self.stamp()


def stamp(moment: datetime) -> str:
    """A moment as GitHub writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
