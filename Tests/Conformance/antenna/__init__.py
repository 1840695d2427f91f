"""An independent client for the Antenna protocol, written from docs/protocol alone."""
