"""warploom for coding agents: its commands as tools of the Model Context Protocol, over stdio."""
