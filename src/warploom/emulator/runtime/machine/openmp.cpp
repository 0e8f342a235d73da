// OpenMP's calls for a team of one thread: pragmas are not read, so that every region is serial.
#include "machine/virtual_time.h"

extern "C" {
int omp_get_thread_num() { return 0; }
int omp_get_num_threads() { return 1; }
int omp_get_max_threads() { return 1; }
int omp_get_num_procs() { return 1; }
int omp_get_thread_limit() { return 1; }
int omp_in_parallel() { return 0; }
int omp_get_dynamic() { return 0; }
int omp_get_nested() { return 0; }
int omp_get_num_devices() { return 0; }
void omp_set_num_threads(int) {}
void omp_set_dynamic(int) {}
void omp_set_nested(int) {}
double omp_get_wtime() { return warploom::virtual_ns() * 1e-9; }
double omp_get_wtick() { return 1e-9; }
}
