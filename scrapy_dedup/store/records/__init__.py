"""What goes into the store and comes out of it: plain values, and the rows that hold them."""
