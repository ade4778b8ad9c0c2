"""Who calls: what the verified token says, and what that caller may do."""

from ledger.errors import RequestRefused
from ledger.event import Actor
from ledger.record import Record
from ledger.run import Run

AGENTS = "agents"
OPERATORS = "operators"
ONLY_OPERATORS = "Only an operator may see and do this."


class Caller(Record):
    """The claims of a token that API Gateway has verified."""

    subject: str
    tenant_id: str
    customer_id: str | None
    groups: frozenset[str]

    @property
    def actor(self) -> Actor:
        """Return the caller as an actor: kind and opaque id."""
        if OPERATORS in self.groups:
            kind = "operator"
        elif AGENTS in self.groups:
            kind = "agent"
        else:
            kind = "customer"
        return Actor(kind=kind, actor_id=self.subject)

    def check_may_open(self, customer_id: object) -> None:
        """Raise RequestRefused unless the caller may open a run for the customer."""
        if AGENTS not in self.groups and self.customer_id != customer_id:
            raise RequestRefused("not-permitted", "You may open runs for your own account only.")

    def check_may_read(self, run: Run) -> None:
        """Raise RequestRefused unless the caller may see the run; another tenant's is not there."""
        own = self.customer_id == run.customer_id
        staff = bool(self.groups & {AGENTS, OPERATORS})
        if self.tenant_id != run.tenant_id or not (own or staff):
            raise RequestRefused("run-not-found", "There is no such run.")

    def check_may_decide(self, run: Run) -> None:
        """Raise RequestRefused unless the caller is the customer. An agent's yes is nobody's.

        Nor is an operator's, even for an account that their token happens to name.
        """
        self.check_may_read(run)
        if self.groups & {AGENTS, OPERATORS} or self.customer_id != run.customer_id:
            raise RequestRefused(
                "not-permitted", "Only the customer may decide. Show them the request."
            )

    def check_may_fetch(self, run: Run) -> None:
        """Raise RequestRefused unless the caller is the customer, to whom the artifact belongs."""
        self.check_may_read(run)
        if self.groups & {AGENTS, OPERATORS} or self.customer_id != run.customer_id:
            raise RequestRefused("not-permitted", "Only the customer may fetch it.")

    def check_may_operate(self, run: Run) -> None:
        """Raise RequestRefused unless the caller is an operator of the run's tenant."""
        self._check_group(run, OPERATORS, ONLY_OPERATORS)

    def check_may_list_reviews(self) -> None:
        """Raise RequestRefused unless the caller is an operator; they see their tenant's runs."""
        if OPERATORS not in self.groups:
            raise RequestRefused("not-permitted", ONLY_OPERATORS)

    def check_may_brief(self, run: Run) -> None:
        """Raise RequestRefused unless the caller is an agent of the run's tenant."""
        self._check_group(run, AGENTS, "The packet is for agents. Customers read the run itself.")

    def _check_group(self, run: Run, group: str, detail: str) -> None:
        self.check_may_read(run)
        if group not in self.groups:
            raise RequestRefused("not-permitted", detail)


def subject_of(claims: object) -> str | None:
    """Return who a verified token says it is, also where it lacks what else we ask of it."""
    subject = claims.get("sub") if isinstance(claims, dict) else None
    return subject if isinstance(subject, str) and subject else None


def caller_of(claims: object) -> Caller:
    """Return the caller. Raises RequestRefused when the token names no tenant."""
    claims = claims if isinstance(claims, dict) else {}
    tenant_id = claims.get("custom:tenant_id")
    subject = subject_of(claims)
    if not (isinstance(tenant_id, str) and tenant_id) or subject is None:
        raise RequestRefused("not-permitted", "The token names no tenant. Sign in again.")
    customer_id = claims.get("custom:customer_id")
    return Caller(
        subject=subject,
        tenant_id=tenant_id,
        customer_id=customer_id if isinstance(customer_id, str) else None,
        groups=_groups(claims.get("cognito:groups")),
    )


def _groups(claim: object) -> frozenset[str]:
    """Return the groups. HTTP API hands a list claim over as text: ``[agents operators]``."""
    if isinstance(claim, str):
        return frozenset(claim.strip("[]").replace(",", " ").split())
    if isinstance(claim, list):
        return frozenset(str(group) for group in claim)
    return frozenset()
