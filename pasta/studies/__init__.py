"""Studies with people: what they are asked, how their answers come in, and what is made of them."""
