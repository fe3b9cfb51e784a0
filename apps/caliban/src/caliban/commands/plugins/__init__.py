"""`caliban plugin`: plugins and the lists that offer them."""
