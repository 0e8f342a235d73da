// Sequentially consistent fences, and the stores that threads have made before them.
#pragma once

#include <cstdint>

#include "order/stale_places.h"

namespace warploom::stale {

// Stores, fences and what follows fences are counted together.
uint64_t next_number();
uint64_t last_number();

void note_fence(const Record& self, Scope scope);
// The block does something behind its fences.
void note_active(const Record& self);
// The number of the last fence of a thread that reaches so far; 0: none is known.
uint64_t last_fence(const Record& record, Scope scope);
// The number of the last fence of its block.
uint64_t last_block_fence(const Record& record, Scope scope);
// Fences of both sides come in one order, which the run has shown. That the reader's is the later
// one is proved by what it has seen of what came behind the writer's; or, it may be, by what the
// writer has missed of the reader's own stores. The host always fences.
enum class Fenced { No, MayBe, IfSeen };
Fenced fences_order(const StrongStore& store, const Record& reader, Scope scope);

void note_own_store(uintptr_t address, unsigned bytes, const Ref<StrongStore>& store);
// A store of the reader's own, or of its block before a barrier, to another place, that its read
// may overtake: only a sequentially consistent fence between them forbids that (PTX memory model;
// "store buffering"). nullptr: none.
const StrongStore* own_store_before(uintptr_t address, unsigned bytes, const Actor& actor,
                                    const Record& self, Scope scope);

}  // namespace warploom::stale
