"""What must hold for communication from the device, in words, for each API."""

from warploom.core.records import Api

PROTOCOL = {
    Api.GIN: """What holds for GIN:

- A put is asynchronous. Its bytes may be read at the peer only after a signal that covers it
  was waited for with acquire, or after a barrier with a Put fence. A weak signal covers its own
  put only; a strong one also all earlier puts to the same peer in the same context.
- Signals only grow and outlive a kernel. Either wait for a count that includes all earlier
  rounds, or use the shadow: increase it by what this round brings, by one thread, then wait
  until it is met.
- Nobody may put into memory that its owner still reads: let the owner say so (a signal back, or
  a barrier at the start of the kernel) before the next round overwrites it.
- flush says that sources may be written again. It says nothing about the peer.
- Ask for every resource that is used: signals, counters, barriers, and a connection type.
- With several blocks give each its own signals and barrier; all blocks that wait for each other
  must fit on the device at once.""",
    Api.LSA: """What holds for LSA:

- Pointers into peers' memory come from ncclGetLsaPointer (rank in the LSA team) or
  ncclGetPeerPointer (world rank), for memory in a registered window. All ranks that are
  addressed share the LSA team.
- A peer's memory may be read after a barrier that follows its owner's writes, and written after
  one that follows its owner's reads. So a kernel that exchanges data has a barrier before and
  one after.
- Barriers order with acq_rel. release alone publishes and waits relaxed; acquire publishes
  nothing.
- Each block uses its own barrier index, below the lsaBarrierCount that was asked for, on all
  ranks.
- All blocks that wait for each other must fit on the device at once.""",
}
