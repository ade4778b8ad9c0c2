"""What S3 promises of an archive under our own key, each value with its source.

[conditional] S3 User Guide, "How to prevent object overwrites with conditional writes";
[complete] S3 API reference, CompleteMultipartUpload; [consistency] S3 User Guide, "What is Amazon
S3?", data consistency model; [errors] S3 API reference, "Error responses".
"""

from ledger.contract import (
    Consistency,
    ErrorClass,
    ErrorRule,
    FaultKind,
    Listing,
    LookUp,
    Need,
    ProviderContract,
)

# Ours: the largest archive is read twice and written once, which takes as long at 9 MB a second.
CALL_TIMEOUT_SECONDS = 180
# Of these, kept for the completing request: its timeouts to connect and to read.
COMPLETION_SECONDS = 15
MAX_PROJECT_BYTES = 512 * 1024 * 1024
# At most this, twice, is in memory. S3 asks for 5 MiB or more, and for 10,000 parts or fewer.
PART_BYTES = 16 * 1024 * 1024
RETENTION_DAYS = 14
"""Ours: how long an archive is kept. Longer than it may be fetched, and than a review may take."""

# Ours: a customer who is away over a weekend still gets it.
VALID_SECONDS = 3 * 24 * 3600

ARTIFACTS_PREFIX = "artifacts/"
SCOPE = "project"
SCHEMA = 1
"""The form of the archive: ``<project_id>/<file name>`` for every file of one project."""

CONTRACT = ProviderContract(
    provider="s3_artifacts",
    needs=frozenset({Need.READ_ARTIFACTS, Need.STORE_ARTIFACTS}),
    call_timeout_seconds=CALL_TIMEOUT_SECONDS,
    key_lifetime_seconds=None,  # the object itself is the key, see ``s3_artifacts``
    look_up=LookUp.BY_RECORD_STATE,
    # [consistency] a read that begins after a write has succeeded shows it; HEAD included.
    look_up_consistency=Consistency.STRONG,
    # [complete] "could take several minutes to finalize", with the connection already answered.
    settle_window_seconds=5 * 60,
    absence_reads=2,
    # [conditional] of two completing requests for one key, one is refused.
    replay_after_absence=True,
    confirmed_by_read=True,
    # Ours. Proof of absence takes the lease and two windows, some 17 minutes.
    recovery_deadline_seconds=60 * 60,
    # A stored archive is unfinished only while its bucket is open to the public.
    pending_deadline_seconds=15 * 60,
    # One key holds one object and a second write of it is refused: nothing can be there twice.
    recent_records=Listing.NONE,
    # Ours. Only attempts of which nothing is known count; five of those is an outage.
    max_attempts=5,
    errors=(
        ErrorRule(error_class=ErrorClass.NOT_REACHED, kind=FaultKind.NEVER_SENT),
        # [conditional] there is an object under the key: ours, since nobody else makes such keys.
        ErrorRule(
            error_class=ErrorClass.COMPARE,
            kind=FaultKind.ANSWERED,
            status=412,
            code="PreconditionFailed",
        ),
        # [conditional] another write of this key was running at the same time.
        ErrorRule(
            error_class=ErrorClass.SAME_KEY_AGAIN,
            kind=FaultKind.ANSWERED,
            status=409,
            code="ConditionalRequestConflict",
        ),
        # [errors] turned away unread: the credentials or the clock were out of date, or the
        # request did not arrive as a whole.
        *(
            ErrorRule(error_class=ErrorClass.NOT_REACHED, kind=FaultKind.ANSWERED, code=code)
            for code in ("ExpiredToken", "RequestTimeout", "RequestTimeTooSkewed")
        ),
        # [errors] invalid, unsigned, forbidden, no such bucket: decided before an object is made.
        # Not NoSuchUpload: the upload may be gone because it was completed.
        ErrorRule(
            error_class=ErrorClass.REFUSED, kind=FaultKind.ANSWERED, status=404, code="NoSuchBucket"
        ),
        *(
            ErrorRule(error_class=ErrorClass.REFUSED, kind=FaultKind.ANSWERED, status=status)
            for status in (400, 401, 403, 405)
        ),
    ),
)
