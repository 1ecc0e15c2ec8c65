"""Where bytes lie, one room a form: its reader and its writer live together. Lanes never import each other."""
