"""What the stand-in for Financial Modeling Prep answers."""
