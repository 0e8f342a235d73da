// Words of inputs, as the driver and the runtime tell each other which ones are altered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace warploom {

// The hexadecimal numbers of `text` from `at` on, with commas between.
std::vector<uint64_t> words_listed(const std::string& text, std::size_t at);
void report_words(const std::set<uint64_t>& words);

}  // namespace warploom
