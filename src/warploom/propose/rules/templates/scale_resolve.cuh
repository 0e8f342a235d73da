  if (r.op >= ncclNumOps && r.op - ncclNumOps < int(s.scales.size())) {
    const Scale& scale = s.scales[r.op - ncclNumOps];
    r.scaled = true;
    r.scale = scale.bits;
    r.scaleAt = scale.at;
    r.op = ncclSum;
  }
