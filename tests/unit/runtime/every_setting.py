"""The settings of a function that was given everything."""

FULL = {
    "LEDGER_TABLE": "ledger",
    "STRIPE_SECRET_ID": "stripe",
    "MAIL_FROM": "from@example.com",
    "SITE_URL": "https://pages.example",
    "ARTIFACTS_BUCKET": "artifacts",
    "PROJECTS_BUCKET": "projects",
}
