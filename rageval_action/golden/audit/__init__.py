"""What `golden check` looks for: each module returns findings, `report.audit` puts them in order."""
