"""The program utf8-codec. `python -m utf8_codec` runs it."""
