"""The pages: an operator's console and a customer's approval. They hold no data of anybody's."""
