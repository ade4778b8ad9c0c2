"""Addresses of S3 under which one object can be fetched for a short time, by whoever has them."""

from typing import Any, Protocol, override

from ledger.artifact import ArtifactLinks

# Saved, and never shown as a page: what is in an artifact was written by others.
DISPOSITION = 'attachment; filename="export.tar"'


class SigningClient(Protocol):
    """The one operation used of boto3's ``s3`` client. It sends nothing."""

    def generate_presigned_url(
        self,
        ClientMethod: str,  # noqa: N803  boto3's own names
        Params: Any = ...,  # noqa: ANN401, N803
        ExpiresIn: int = ...,  # noqa: N803
    ) -> str:
        """Return the address of one request, signed with the client's own credentials."""


class S3ArtifactLinks(ArtifactLinks):
    """``ArtifactLinks`` over one bucket. An address allows what the function itself may do."""

    def __init__(self, client: SigningClient, bucket: str) -> None:
        """Sign for objects in ``bucket``."""
        self._client = client
        self._bucket = bucket

    @override
    def url(self, artifact_id: str, lifetime_seconds: int) -> str:
        return self._client.generate_presigned_url(
            "get_object",
            Params={
                "Bucket": self._bucket,
                "Key": artifact_id,
                "ResponseContentDisposition": DISPOSITION,
            },
            ExpiresIn=lifetime_seconds,
        )
