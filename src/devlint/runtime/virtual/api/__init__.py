"""The parts of torch's public surface that ask about accelerators, answered by the emulation."""
