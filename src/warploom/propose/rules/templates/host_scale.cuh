
// In place of ncclRedOpCreatePreMulSum and ncclRedOpDestroy: operators are numbered behind NCCL's.
inline ncclResult_t redOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                         ncclScalarResidence_t where, ncclComm_t comm) {
  Session* known = find(comm);
  Session& s = known != nullptr ? *known : adopt(comm, makingNow());
  Scale made;
  if (where == ncclScalarDevice) made.at = scalar;
  if (where != ncclScalarDevice) std::memcpy(&made.bits, scalar, bytesOf(type));
  s.scales.push_back(made);
  *op = static_cast<ncclRedOp_t>(ncclNumOps + s.scales.size() - 1);
  return ncclSuccess;
}
inline ncclResult_t redOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  Session* s = find(comm);
  const bool known = s != nullptr && op >= ncclNumOps && op - ncclNumOps < int(s->scales.size());
  return known ? ncclSuccess : fail(ncclInvalidArgument, "ncclRedOpDestroy", "of no operator");
}
