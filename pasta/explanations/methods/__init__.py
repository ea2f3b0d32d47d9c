"""Explanation methods. A module here registers its methods; the catalogue imports all of them."""
