// What registers and stack slots hold, as sums of unknowns: equal sums are equal values.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace guard {

// A sum of unknowns (form 0: none) and a number.
struct Value {
  int32_t form = 0;
  int64_t offset = 0;
  bool operator==(const Value&) const = default;
  bool is_constant() const { return form == 0; }
  Value plus(int64_t number) const {
    return {form,
            static_cast<int64_t>(static_cast<uint64_t>(offset) + static_cast<uint64_t>(number))};
  }
};

enum class Unknown : uint8_t {
  Frame,     // the stack pointer at the entry of a function
  Entry,     // a register at the entry of a function
  Symbol,    // the address of a symbol
  Load,      // what an instruction loads
  Result,    // what an instruction leaves in a register
  Meeting,   // what a register holds where paths meet
  Stack,     // the stack pointer after a change by an unknown amount
  Aligned,   // the same, rounded down
  Computed,  // what an instruction makes of values
  Low,       // the low 32 bits of a value
  Signed,    // these bits, with their sign
};

// Numbers texts from 0 on: equal ones have one number. Texts stay where they are.
class Texts {
 public:
  // The number of a text, and whether it is new.
  std::pair<int32_t, bool> number(std::string_view text);
  std::string_view operator[](std::size_t number) const { return texts_[number]; }

 private:
  std::string_view keep(std::string_view text);
  void grow();

  std::vector<std::string_view> texts_;
  std::vector<std::size_t> hashes_;  // of the texts
  std::vector<int32_t> slots_;       // a number, or -1; the first free one ends a search
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t free_ = 0;  // in the last chunk
};

class Values {
 public:
  Values();
  static Value constant(int64_t number) { return {0, number}; }
  // The unknown that these three say; always the same one.
  Value unknown(Unknown kind, int64_t first, int64_t second = 0);
  Value symbol(std::string_view name);
  // What `name` makes of `operands`.
  Value computed(std::string_view name, const std::vector<Value>& operands);
  Value low(Value value);            // its low 32 bits
  Value sign_extended(Value value);  // the same with their sign
  Value sum(Value one, Value other, int64_t times = 1);
  Value product(Value value, int64_t times);

  // If `value` is one unknown and a number: which kind, else nothing.
  bool is_one(Value value, Unknown kind) const;
  // The name of the symbol that `value` is relative to, or nothing.
  std::string_view symbol_of(Value value) const;
  // The two numbers that the unknown was made with.
  std::pair<int64_t, int64_t> origin(Value value) const;

 private:
  using Terms = std::vector<std::pair<int32_t, int64_t>>;  // unknown and factor, in order
  struct Atom {
    Unknown kind;
    int64_t first, second;
    bool narrow;  // it fits into 32 bits without a sign
  };
  struct AtomKey {
    Unknown kind;
    int64_t first, second;
    bool operator==(const AtomKey&) const = default;
  };
  struct AtomHash {
    std::size_t operator()(const AtomKey& key) const {
      constexpr uint64_t odd = 0x9E3779B97F4A7C15;
      uint64_t hash = static_cast<uint64_t>(key.first) * odd + static_cast<uint64_t>(key.kind);
      hash = (hash ^ hash >> 32) * odd + static_cast<uint64_t>(key.second);
      return (hash ^ hash >> 29) * odd >> 16;
    }
  };
  Value intern(const Terms& terms, int64_t offset);
  int32_t form_of(int32_t atom);
  int32_t atom(Unknown kind, int64_t first, int64_t second, bool narrow);
  const Atom* only(Value value) const;

  std::vector<Atom> atoms_;
  std::vector<Terms> forms_;
  Texts names_;
  Texts sums_;                   // what the forms of more than one unknown are made of
  std::vector<int32_t> many_;    // by such a text: its form
  std::vector<int32_t> single_;  // by unknown: the form that is it alone, 0 for none yet
  std::unordered_map<AtomKey, int32_t, AtomHash> atom_ids_;
};

}  // namespace guard
