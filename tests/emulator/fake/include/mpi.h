#pragma once
extern "C" int MPI_Init(int*, char***);
