"""The machine's own time and randomness."""

import secrets
import time

ID_BYTES = 16  # 128 bits: no two ids are ever equal in practice


class SystemClock:
    """``ledger.ports.Clock`` over the machine's clock."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1_000_000


class RandomIds:
    """``ledger.ports.Ids`` over the operating system's randomness."""

    def new_id(self) -> str:
        """Return 32 hexadecimal digits that nobody can guess."""
        return secrets.token_hex(ID_BYTES)
