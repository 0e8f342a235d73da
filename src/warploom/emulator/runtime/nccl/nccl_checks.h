// What NCCL objects must look like when a process ends.
#pragma once

namespace warploom {

// Open groups; and, if the process succeeded, communicators and windows that were never destroyed.
void nccl_process_exit_checks(int rank, int code);

}  // namespace warploom
