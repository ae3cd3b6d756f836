"""Files for the folders of users, and the record of what was written there."""
