"""What draws the committed pictures of these pages: a build of them needs no data and no time."""
