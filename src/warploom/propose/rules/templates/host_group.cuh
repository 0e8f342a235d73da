
// In place of ncclGroupStart and ncclGroupEnd: collectives are launched where they stand.
inline ncclResult_t groupStart() { return ncclSuccess; }
inline ncclResult_t groupEnd() { return ncclSuccess; }
