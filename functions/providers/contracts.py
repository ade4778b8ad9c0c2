"""Every provider's contract by name. Pure data: importing this loads no vendor's library."""

from collections.abc import Mapping

from ledger.contract import ProviderContract
from providers import s3_promises, stripe_billing, stripe_refunds
from providers.mail_kinds import MAIL_KINDS

CONTRACTS: Mapping[str, ProviderContract] = {
    contract.provider: contract
    for contract in (
        stripe_billing.CONTRACT,
        stripe_refunds.CONTRACT,
        s3_promises.CONTRACT,
        *(kind.contract for kind in MAIL_KINDS.values()),
    )
}
