// ---- warploom: communication layer (@API@), plain form -------------------------------------
// Each communication is one kernel on the program's stream; NCCL still makes the communicator.
@PROTOCOL@
namespace device_comm {

// Where data is: the same on every rank, since all allocate the same in the same order.
struct Place {
  ncclWindow_t window;
  size_t offset;
};

inline ncclDevComm dev{};

@REGION_START@