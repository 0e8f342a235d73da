  needs.ginSignalCount = @SIGNALS@;
  needs.ginContextCount = 1;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 29, 7)
  needs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
#endif
