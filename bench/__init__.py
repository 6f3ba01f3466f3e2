"""What attn takes in time and memory, beside what others take: ``python -m bench.run``."""
