"""Values that name only what is special about them."""

import re
from dataclasses import fields

REPEATED = re.compile(r"(.)\1{20,}")


class Brief:
    """A dataclass that shows what differs from its defaults, and no long repetitions."""

    def __repr__(self) -> str:
        """Return what makes this value."""
        special = {
            field.name: getattr(self, field.name)
            for field in fields(self)  # type: ignore[arg-type]
            if getattr(self, field.name) not in (field.default, None, (), {})
        }
        shown = ", ".join(f"{name}={value!a}" for name, value in special.items())
        return f"{type(self).__name__}({REPEATED.sub(r'\1...', shown)})"
