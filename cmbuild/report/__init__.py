"""Reports of the work to people and programs: events, results, and the reporters that show them."""
