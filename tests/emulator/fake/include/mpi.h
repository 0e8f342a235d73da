#pragma once
#ifdef __cplusplus
extern "C"
#endif
    int MPI_Init(int*, char***);
