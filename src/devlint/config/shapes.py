"""The types of settings: what they accept, and how they are called."""

from __future__ import annotations

from enum import Enum

from devlint.model.findings import FAIL_ON, OUTPUT_FORMATS, Level
from devlint.safety.files import LANGUAGES, LARGEST_SOURCE

LEVELS = tuple(level.value for level in Level)


class Shape(Enum):
    """What a value looks like in TOML, in the words of an error message."""

    STRING = "a string"
    BOOLEAN = "true or false"
    SIZE = f"a number of bytes from 1 to {LARGEST_SOURCE:,}"
    PERCENT = "a number from 0 to 100"
    STRINGS = "a list of strings"
    DEVICE_TYPES = 'a list of device types such as "npu", without an index'
    TABLE_OF_STRINGS = "a table of lists of strings"
    ROWS = "a table of tables"
    SWITCHES = "a table of true or false"
    LEVELS = "a table of levels by rule"
    EXTENSIONS = 'a table of languages by extension, such as `{ md = "markdown" }`'
    FORMAT = "one of " + ", ".join(OUTPUT_FORMATS)
    FAILING = "one of " + ", ".join(FAIL_ON)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that it takes, or its entries, where these are few."""
        found = {Shape.FORMAT: OUTPUT_FORMATS, Shape.FAILING: FAIL_ON, Shape.LEVELS: LEVELS}
        return found.get(self, ())

    def accepts(self, value: object) -> bool:
        match self:
            case Shape.STRING:
                return isinstance(value, str)
            case Shape.BOOLEAN:
                return isinstance(value, bool)
            case Shape.SIZE | Shape.PERCENT:
                if not isinstance(value, int) or isinstance(value, bool):
                    return False
                return 0 < value <= LARGEST_SOURCE if self is Shape.SIZE else 0 <= value <= 100
            case Shape.STRINGS:
                return isinstance(value, list) and all(isinstance(item, str) for item in value)
            case Shape.DEVICE_TYPES:
                return isinstance(value, list) and all(
                    isinstance(item, str) and item.isidentifier() for item in value
                )
            case Shape.TABLE_OF_STRINGS:
                return isinstance(value, dict) and all(map(Shape.STRINGS.accepts, value.values()))
            case Shape.ROWS:
                return isinstance(value, dict) and all(
                    isinstance(item, dict) for item in value.values()
                )
            case Shape.SWITCHES:
                return isinstance(value, dict) and all(
                    isinstance(item, bool) for item in value.values()
                )
            case Shape.LEVELS:
                return isinstance(value, dict) and all(
                    isinstance(item, str) and item in LEVELS for item in value.values()
                )
            case Shape.EXTENSIONS:
                return isinstance(value, dict) and all(
                    is_extension(name) and language in LANGUAGES for name, language in value.items()
                )
            case Shape.FORMAT | Shape.FAILING:
                return value in self.words


def is_extension(text: str) -> bool:
    """Whether the name of a file can end with a dot and this."""
    return bool(text.strip()) and not set(text) & set("./\\")
