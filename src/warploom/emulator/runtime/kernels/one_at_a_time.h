// Whether kernels of one device need to run at once. CUDA runs those of different streams side by
// side where it has room, and promises it to nobody ("Concurrent Kernel Execution" in the CUDA C++
// Programming Guide). So in most schedules a device runs one kernel after the other for as long as
// anything else can go on.
#pragma once

namespace warploom {

struct Stream;
struct StreamOp;

// Is it a launch, or a collective, a fill or a copy within the device, that the schedule lets wait
// for another kernel of its device and process?
bool waits_for_other_kernels(const Stream& stream, const StreamOp& op);
// Nothing goes on: lets a kernel begin beside those that run, which is a finding. False: none
// waits.
bool start_beside_others();

}  // namespace warploom
