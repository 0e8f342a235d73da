// Streams of ordinary programs must do what the C++ library does: prints "bad 0".
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>
__global__ void nothing() {}
static int bad = 0;
#define EQ(a, c)                                         \
  do {                                                   \
    if (!((a) == (c))) {                                 \
      bad++;                                             \
      fprintf(stderr, "line %d: not equal\n", __LINE__); \
    }                                                    \
  } while (0)
struct Tee : std::streambuf {
  std::string got;
  int overflow(int c) override {
    got += (char)c;
    return c;
  }
};
int main() {
  std::ofstream out("own.bin", std::ios::binary);
  std::vector<float> v(1000, 1.5f);
  out.write((char*)v.data(), v.size() * 4);
  out << "tail" << std::string(100, 'x') << 5 << ' ' << 2.5 << std::endl;
  out.close();
  std::ifstream in("own.bin", std::ios::binary);
  std::vector<float> w(1000);
  in.read((char*)w.data(), w.size() * 4);
  EQ(in.gcount(), 4000);
  EQ(v, w);
  std::string line;
  std::getline(in, line);
  EQ(line.substr(0, 5), "tailx");
  char more[8];
  in.read(more, 8);
  EQ(in.gcount(), 0);
  EQ(in.eof(), true);
  std::ostringstream o;
  o << std::setw(5) << 3 << "text" << 'c' << std::hex << 255 << (const void*)nullptr;
  EQ(o.str(), "    3textcff0");
  std::istringstream i("word 5 6.5 rest of\nline two\nxyz");
  char word[16];
  int n;
  double d;
  i >> word >> n >> d;
  EQ(std::string(word), "word");
  EQ(n, 5);
  EQ(d, 6.5);
  char text[32];
  i.getline(text, 32);
  EQ(std::string(text), " rest of");
  i.getline(text, 32, '\n');
  EQ(std::string(text), "line two");
  i.get(text, 3);
  EQ(std::string(text), "xy");
  EQ(i.readsome(text, 32), 1);
  std::stringbuf b;
  EQ(b.sputn("abcdef", 6), 6);
  char six[6];
  EQ(b.sgetn(six, 6), 6);
  EQ(memcmp(six, "abcdef", 6), 0);
  Tee tee;
  std::ostream t(&tee);
  t.write("through", 7);
  t << " the tee";
  EQ(tee.got, "through the tee");
  std::cout << "to the user " << 1.5 << "\n";
  std::cout.write("raw\n", 4);
  std::cout.rdbuf()->sputn("buf\n", 4);
  std::cerr << "error" << std::endl;
  std::filebuf f;
  f.open("own.bin", std::ios::in);
  char four[4];
  EQ(f.sgetn(four, 4), 4);
  EQ(memcmp(four, v.data(), 4), 0);
  std::wostringstream wide;
  wide << L"wide" << 3;
  EQ(wide.str(), L"wide3");
  nothing<<<1, 1>>>();
  cudaDeviceSynchronize();
  std::cout << "bad " << bad << std::endl;
  return bad;
}
