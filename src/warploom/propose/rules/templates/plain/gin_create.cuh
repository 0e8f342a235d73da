  return ncclDevCommCreate(known, &needs, &dev);
