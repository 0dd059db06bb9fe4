"""One file per question: `python -m benchmarks.<name>`. Each prints its figures and can write them as JSON."""
