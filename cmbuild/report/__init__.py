"""What people and programs see of the work: events, results, and the reporters that show them."""
