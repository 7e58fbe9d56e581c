"""Where the rows live. Everything that leaves them is a sum (or a maximum) over rows."""
