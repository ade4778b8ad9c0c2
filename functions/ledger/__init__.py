"""The domain of the recovery ledger: what was intended, what is proven, what may happen next.

Imports nothing of AWS. Third-party code here is pydantic and two pure data libraries:
``rfc8785`` (canonical JSON) and ``iso4217`` (currency exponents).
"""
