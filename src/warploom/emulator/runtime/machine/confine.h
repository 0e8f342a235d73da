#pragma once

namespace warploom {

// From here on this process can make no other process and no thread of the system, and become no
// other program: fork(), exec() and their like fail with EAGAIN. A program has no need of them (its
// threads are fibers), and one that forks without end would take the machine down before anybody
// could end it. Holds for root, too, whom no limit of processes binds.
// Memory that can be written can neither be run from here on nor made so: what runs comes from
// files.
void forbid_processes();

}  // namespace warploom
