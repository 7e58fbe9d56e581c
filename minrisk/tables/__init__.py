"""Tables on disk: read into frames with the types that their cells tell, and written."""
