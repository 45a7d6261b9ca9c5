"""A run of hours that shows what grows: a line of figures every half minute, and a verdict about each of them."""
