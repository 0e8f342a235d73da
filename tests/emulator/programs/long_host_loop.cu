// A long computation on the host is not a deadlock, whatever else stands still.
#include <vector>

int main() {
  std::vector<unsigned> values(1 << 16, 1u);
  unsigned sum = 0;
  for (int round = 0; round < 400; round++) {
    for (unsigned value : values) sum += value;
  }
  return sum == 400u << 16 ? 0 : 1;
}
