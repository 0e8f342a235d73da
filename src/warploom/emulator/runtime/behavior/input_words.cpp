#include "behavior/input_words.h"

#include <algorithm>
#include <cstdlib>

#include "report/report.h"

namespace warploom {

std::vector<uint64_t> words_listed(const std::string& text, std::size_t at) {
  std::vector<uint64_t> words;
  while (at < text.size()) {
    words.push_back(std::strtoull(text.c_str() + at, nullptr, 16));
    at = std::min(text.find(',', at), text.size()) + 1;
  }
  return words;
}

void report_words(const std::set<uint64_t>& words) {
  std::string text;
  for (const uint64_t word : words) {
    text += format("%s\"%llx\"", text.empty() ? "" : ",", static_cast<unsigned long long>(word));
  }
  send_line("{\"ev\":\"inputs\",\"words\":[" + text + "]}");
}

}  // namespace warploom
