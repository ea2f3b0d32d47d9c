"""Templates, figures and the published numbers behind the PDF reports."""
