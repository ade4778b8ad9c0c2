"""Cancel a subscription's renewal and refund a charge, with the customer's approval."""
