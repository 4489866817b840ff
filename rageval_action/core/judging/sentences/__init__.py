"""Every sentence about a comparison, made from its data: one place for all surfaces and for the JSON's `text`."""
