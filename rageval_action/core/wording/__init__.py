"""How values are said and checked: numbers, lists, escaping, field checks, suggestions."""
