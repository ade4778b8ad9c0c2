"""Every provider's contract by name. Pure data: importing this loads no vendor's library."""

from collections.abc import Mapping

from ledger.contract import ProviderContract
from providers import ses_mail, stripe_billing, stripe_refunds

CONTRACTS: Mapping[str, ProviderContract] = {
    contract.provider: contract
    for contract in (stripe_billing.CONTRACT, stripe_refunds.CONTRACT, ses_mail.CONTRACT)
}
