"""Where archives are kept: one bucket, closed to the public, whose objects go by themselves."""

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk.aws_iam import AnyPrincipal, Effect, PolicyStatement
from aws_cdk.aws_s3 import (
    BlockPublicAccess,
    Bucket,
    BucketEncryption,
    LifecycleRule,
    ObjectOwnership,
)
from constructs import Construct

from providers.s3_promises import ARTIFACTS_PREFIX, RETENTION_DAYS
from stacks.acknowledge import acknowledge
from stacks.deployment import Deployment

# Far longer than any call runs: what is left of an upload then belongs to nobody.
ABANDONED_UPLOAD_DAYS = 1


class ArtifactsStack(Stack):
    """The bucket of archives."""

    def __init__(self, scope: Construct, construct_id: str, *, deployment: Deployment) -> None:
        """Add the bucket, which no deletion of the stack takes along."""
        super().__init__(scope, construct_id, description="Recovery ledger: archives of customers")
        self.bucket = Bucket(
            self,
            "Artifacts",
            block_public_access=BlockPublicAccess.BLOCK_ALL,
            # By a name that functions can be told without a reference: an export would tie the
            # stacks of released versions to this one.
            bucket_name=deployment.artifacts_bucket(self),
            encryption=BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            lifecycle_rules=[
                LifecycleRule(
                    expiration=Duration.days(RETENTION_DAYS),
                    id="archives-expire",
                    prefix=ARTIFACTS_PREFIX,
                ),
                LifecycleRule(
                    abort_incomplete_multipart_upload_after=Duration.days(ABANDONED_UPLOAD_DAYS),
                    id="abandoned-uploads-go",
                ),
            ],
            object_ownership=ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=RemovalPolicy.RETAIN,
        )
        # S3 User Guide, "Enforce conditional writes on Amazon S3 buckets": whoever writes, nothing
        # that is stored is replaced. Parts of an upload are no objects and need no condition.
        self.bucket.add_to_resource_policy(
            PolicyStatement(
                actions=["s3:PutObject"],
                conditions={
                    "Bool": {"s3:ObjectCreationOperation": "true"},
                    "Null": {"s3:if-none-match": "true"},
                },
                effect=Effect.DENY,
                principals=[AnyPrincipal()],
                resources=[self.bucket.arn_for_objects("*")],
            )
        )
        acknowledge(
            self.bucket,
            "S1",
            "Who was handed an archive is in the ledger and the API's log; an access log would "
            "hold the addresses of customers.",
        )
        CfnOutput(self, "ArtifactsBucketName", value=self.bucket.bucket_name)
