// getopt and getopt_long as the GNU C library has them: its own keep the place in a hidden
// variable.
#include <getopt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

char* optarg = nullptr;
int optind = 1, opterr = 1, optopt = '?';

namespace {

enum class Order { Permute, Require, Return };

// Where the scan stands: in a group of short options, and the operands that were skipped.
struct {
  bool begun = false;
  const char* next = nullptr;
  Order order = Order::Permute;
  int first = 1, last = 1;
} g_scan;

int g_letter = 0;  // what each call sets optopt to

struct Call {
  int count;
  char** words;
  const char* letters;
  const option* longs;
  int* index;
  bool long_only;
  bool quiet() const { return !opterr || letters[0] == ':'; }
};

void begin(const Call& call) {
  if (optind == 0) optind = 1;
  g_scan = {true, nullptr, Order::Permute, optind, optind};
  if (call.letters[0] == '-') {
    g_scan.order = Order::Return;
  } else if (call.letters[0] == '+' || std::getenv("POSIXLY_CORRECT")) {
    g_scan.order = Order::Require;
  }
}

// Puts the options that came behind the skipped operands before them.
void exchange(char** words) {
  std::rotate(words + g_scan.first, words + g_scan.last, words + optind);
  g_scan.first += optind - g_scan.last;
  g_scan.last = optind;
}

int missing_argument(const Call& call) { return call.letters[0] == ':' ? ':' : '?'; }

struct Match {
  const option* found = nullptr;
  int index = -1;
  bool exact = false, ambiguous = false;
};

Match find_long(const Call& call, const char* name, std::size_t length) {
  Match match;
  for (int i = 0; call.longs[i].name; i++) {
    const option& candidate = call.longs[i];
    if (std::strncmp(candidate.name, name, length) != 0) continue;
    if (std::strlen(candidate.name) == length) return {&candidate, i, true, false};
    if (!match.found) {
      match.found = &candidate;
      match.index = i;
    } else if (call.long_only || match.found->has_arg != candidate.has_arg ||
               match.found->flag != candidate.flag || match.found->val != candidate.val) {
      match.ambiguous = true;
    }
  }
  return match;
}

void say_ambiguous(const Call& call, const char* dashes, const char* name, std::size_t length) {
  std::fprintf(stderr, "%s: option '%s%s' is ambiguous; possibilities:", call.words[0], dashes,
               name);
  for (const option* o = call.longs; o->name; o++) {
    if (std::strncmp(o->name, name, length) == 0) std::fprintf(stderr, " '%s%s'", dashes, o->name);
  }
  std::fputc('\n', stderr);
}

// -1: no long option of that name, and it may be short ones.
int take_long(const Call& call, const char* dashes) {
  const char* name = g_scan.next;
  const char* end = name + std::strcspn(name, "=");
  const Match match = find_long(call, name, static_cast<std::size_t>(end - name));
  const char* self = call.words[0];
  if (!match.found && call.long_only && dashes[1] == 0 && std::strchr(call.letters, *name)) {
    return -1;
  }
  g_scan.next = nullptr;
  optind++;
  if (match.ambiguous || !match.found) g_letter = 0;
  if (match.ambiguous) {
    if (!call.quiet()) say_ambiguous(call, dashes, name, static_cast<std::size_t>(end - name));
    return '?';
  }
  if (!match.found) {
    if (!call.quiet()) std::fprintf(stderr, "%s: unrecognized option '%s%s'\n", self, dashes, name);
    return '?';
  }
  const option& chosen = *match.found;
  if (*end && chosen.has_arg == no_argument) {
    if (!call.quiet()) {
      std::fprintf(stderr, "%s: option '%s%s' doesn't allow an argument\n", self, dashes,
                   chosen.name);
    }
    g_letter = chosen.val;
    return '?';
  }
  if (*end) {
    optarg = const_cast<char*>(end) + 1;
  } else if (chosen.has_arg == required_argument) {
    if (optind >= call.count) {
      if (!call.quiet()) {
        std::fprintf(stderr, "%s: option '%s%s' requires an argument\n", self, dashes, chosen.name);
      }
      g_letter = chosen.val;
      return missing_argument(call);
    }
    optarg = call.words[optind++];
  }
  if (call.index) *call.index = match.index;
  if (!chosen.flag) return chosen.val;
  *chosen.flag = chosen.val;
  return 0;
}

int take_short(const Call& call) {
  const char letter = *g_scan.next++;
  const char* known = letter == ':' || letter == ';' ? nullptr : std::strchr(call.letters, letter);
  if (*g_scan.next == 0) optind++;
  if (!known) {
    if (!call.quiet()) {
      std::fprintf(stderr, "%s: invalid option -- '%c'\n", call.words[0], letter);
    }
    g_letter = letter;
    return '?';
  }
  if (known[0] == 'W' && known[1] == ';' && call.longs) {
    if (*g_scan.next == 0) g_scan.next = optind < call.count ? call.words[optind] : "";
    return take_long(call, "-W ");
  }
  if (known[1] != ':') return letter;
  const bool optional = known[2] == ':';
  if (*g_scan.next) {
    optarg = const_cast<char*>(g_scan.next);
    optind++;
  } else if (!optional) {
    if (optind >= call.count) {
      if (!call.quiet()) {
        std::fprintf(stderr, "%s: option requires an argument -- '%c'\n", call.words[0], letter);
      }
      g_letter = letter;
      g_scan.next = nullptr;
      return missing_argument(call);
    }
    optarg = call.words[optind++];
  }
  g_scan.next = nullptr;
  return letter;
}

bool is_operand(const char* word) { return word[0] != '-' || word[1] == 0; }

// Comes to the next word that is an option. False: `result` is to be returned.
bool next_word(const Call& call, int& result) {
  g_scan.last = std::min(g_scan.last, optind);
  g_scan.first = std::min(g_scan.first, optind);
  if (g_scan.order == Order::Permute) {
    if (g_scan.first != g_scan.last && g_scan.last != optind) {
      exchange(call.words);
    } else if (g_scan.last != optind) {
      g_scan.first = optind;
    }
    while (optind < call.count && is_operand(call.words[optind])) optind++;
    g_scan.last = optind;
  }
  if (optind != call.count && std::strcmp(call.words[optind], "--") == 0) {
    optind++;
    if (g_scan.first != g_scan.last && g_scan.last != optind) {
      exchange(call.words);
    } else if (g_scan.first == g_scan.last) {
      g_scan.first = optind;
    }
    g_scan.last = call.count;
    optind = call.count;
  }
  result = -1;
  if (optind == call.count) {
    if (g_scan.first != g_scan.last) optind = g_scan.first;
    return false;
  }
  if (!is_operand(call.words[optind])) return true;
  if (g_scan.order == Order::Require) return false;
  optarg = call.words[optind++];
  result = 1;
  return false;
}

int take_next(Call call) {
  if (call.count < 1) return -1;
  optarg = nullptr;
  if (optind == 0 || !g_scan.begun) begin(call);
  if (call.letters[0] == '-' || call.letters[0] == '+') call.letters++;
  if (!g_scan.next || !*g_scan.next) {
    int result = 0;
    if (!next_word(call, result)) return result;
    const char* word = call.words[optind];
    if (call.longs && word[1] == '-') {
      g_scan.next = word + 2;
      return take_long(call, "--");
    }
    g_scan.next = word + 1;
    if (call.longs && call.long_only && (word[2] || !std::strchr(call.letters, word[1]))) {
      const int found = take_long(call, "-");
      if (found != -1) return found;
    }
  }
  return take_short(call);
}

int scan(const Call& call) {
  const int result = take_next(call);
  if (call.count >= 1) optopt = g_letter;
  return result;
}

}  // namespace

extern "C" {

int getopt(int count, char* const* words, const char* letters) noexcept {
  return scan({count, const_cast<char**>(words), letters, nullptr, nullptr, false});
}
int __posix_getopt(int count, char* const* words, const char* letters) {
  return getopt(count, words, letters);
}
int getopt_long(int count, char* const* words, const char* letters, const option* longs,
                int* index) noexcept {
  return scan({count, const_cast<char**>(words), letters, longs, index, false});
}
int getopt_long_only(int count, char* const* words, const char* letters, const option* longs,
                     int* index) noexcept {
  return scan({count, const_cast<char**>(words), letters, longs, index, true});
}

}  // extern "C"
