"""The pages: the console, and what a customer decides on or fetches. They hold no data."""
