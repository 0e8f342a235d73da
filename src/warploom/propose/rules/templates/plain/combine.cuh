
template <typename Element>
__device__ Element combine(ncclRedOp_t op, Element a, Element b) {
@COMBINE@}
