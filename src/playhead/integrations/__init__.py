"""Bridges to other programs: taking over what they recorded, recording what they do.

Each module stands alone and knows one program. None is imported by the rest of the library, and a module that needs the
other program's package imports it inside its functions, so that a bridge costs nothing until it is crossed.
"""
