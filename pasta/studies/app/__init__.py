"""The web application in which people take part in a study of any kind; it knows no study."""
