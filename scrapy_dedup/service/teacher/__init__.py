"""Which pages a browser is to show, and what their site learns from that."""
