"""`rageval action`: the whole job inside a workflow. `flow.run` reads top to bottom as what happens."""
