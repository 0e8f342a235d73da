#ifndef DEVICE_COMM_STAGING_BYTES
#define DEVICE_COMM_STAGING_BYTES (2 << 20)  // per rank: where reductions collect what peers send
#endif
