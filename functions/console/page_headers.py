"""What a browser is told about the pages, so that text which gets into one stays text."""

from collections.abc import Mapping
from urllib.parse import urlsplit


def page_headers(sign_in_url: str) -> Mapping[str, str]:
    """Return the headers of every page and file; only the sign-in host is called besides our own.

    Raises ValueError unless ``sign_in_url`` has a scheme and a host.
    """
    return {
        "content-security-policy": _policy(_origin(sign_in_url)),
        # Small, and older than the API that it calls is worse than fetched again.
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
        # The addresses of the pages name runs.
        "referrer-policy": "no-referrer",
        "strict-transport-security": "max-age=31536000",
        "x-content-type-options": "nosniff",
        "x-robots-tag": "noindex",
    }


def _policy(sign_in_origin: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            f"connect-src 'self' {sign_in_origin}",
            # Nothing is submitted by the browser itself: every request is made by a script.
            "form-action 'none'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            # No text becomes markup or script by assignment, whatever a script of ours does.
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError("The address of the sign-in pages needs a scheme and a host.")
    return f"{parts.scheme}://{parts.netloc}"
