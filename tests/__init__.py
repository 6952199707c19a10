"""The specification, as tests: each name is a sentence about the product."""
