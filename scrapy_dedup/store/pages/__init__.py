"""Pages: contents, visits, states, responses, and figures of them."""
