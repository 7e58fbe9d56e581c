"""Given a response f, find the vector a that minimises the loss along f."""
