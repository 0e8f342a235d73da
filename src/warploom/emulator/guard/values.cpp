#include "values.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

namespace guard {

namespace {

template <typename T>
void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

constexpr std::size_t kChunk = 1 << 16;  // bytes

std::pair<int32_t, bool> Texts::number(std::string_view text) {
  if (texts_.size() * 2 >= slots_.size()) grow();
  const std::size_t hash = std::hash<std::string_view>()(text), mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at] >= 0; at = (at + 1) & mask) {
    const auto known = static_cast<std::size_t>(slots_[at]);
    if (hashes_[known] == hash && texts_[known] == text) return {slots_[at], false};
  }
  slots_[at] = static_cast<int32_t>(texts_.size());
  texts_.push_back(keep(text));
  hashes_.push_back(hash);
  return {slots_[at], true};
}

std::string_view Texts::keep(std::string_view text) {
  if (text.empty()) return {};
  if (chunks_.empty() || free_ + text.size() > kChunk) {
    chunks_.push_back(std::make_unique<char[]>(std::max(kChunk, text.size())));
    free_ = 0;
  }
  char* place = chunks_.back().get() + free_;
  std::memcpy(place, text.data(), text.size());
  free_ += text.size();
  return {place, text.size()};
}

void Texts::grow() {
  slots_.assign(std::max<std::size_t>(64, slots_.size() * 2), -1);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t number = 0; number < texts_.size(); ++number) {
    std::size_t at = hashes_[number] & mask;
    while (slots_[at] >= 0) at = (at + 1) & mask;
    slots_[at] = static_cast<int32_t>(number);
  }
}

Values::Values() { forms_.emplace_back(); }

int32_t Values::atom(Unknown kind, int64_t first, int64_t second, bool narrow) {
  const auto [found, fresh] =
      atom_ids_.emplace(AtomKey{kind, first, second}, static_cast<int32_t>(atoms_.size()));
  if (fresh) atoms_.push_back({kind, first, second, narrow});
  return found->second;
}

Value Values::intern(const Terms& terms, int64_t offset) {
  if (terms.empty()) return {0, offset};
  if (terms.size() == 1 && terms[0].second == 1) return {form_of(terms[0].first), offset};
  std::string key;
  for (const auto& [id, factor] : terms) {
    append(key, id);
    append(key, factor);
  }
  const auto [number, fresh] = sums_.number(key);
  if (fresh) {
    many_.push_back(static_cast<int32_t>(forms_.size()));
    forms_.push_back(terms);
  }
  return {many_[static_cast<std::size_t>(number)], offset};
}

// Most sums are one unknown: they are found by its number.
int32_t Values::form_of(int32_t atom) {
  const auto at = static_cast<std::size_t>(atom);
  if (single_.size() <= at) single_.resize(at + 1, 0);
  if (single_[at] == 0) {
    single_[at] = static_cast<int32_t>(forms_.size());
    forms_.push_back({{atom, 1}});
  }
  return single_[at];
}

Value Values::unknown(Unknown kind, int64_t first, int64_t second) {
  return {form_of(atom(kind, first, second, false)), 0};
}

Value Values::symbol(std::string_view name) {
  return unknown(Unknown::Symbol, names_.number(name).first);
}

Value Values::computed(std::string_view name, const std::vector<Value>& operands) {
  std::string key(name);
  key += '\0';
  for (const Value& operand : operands) {
    append(key, operand.form);
    append(key, operand.offset);
  }
  return unknown(Unknown::Computed, names_.number(key).first);
}

Value Values::low(Value value) {
  if (value.is_constant()) return {0, static_cast<uint32_t>(value.offset)};
  const Atom* one = only(value);
  if (one && one->narrow && value.offset == 0) return value;
  return intern({{atom(Unknown::Low, value.form, static_cast<uint32_t>(value.offset), true), 1}},
                0);
}

Value Values::sign_extended(Value value) {
  if (value.is_constant()) return {0, static_cast<int32_t>(value.offset)};
  // The low bits of a value say all that counts.
  value = low(value);
  return unknown(Unknown::Signed, value.form, value.offset);
}

Value Values::product(Value value, int64_t times) {
  Terms terms;
  const auto factor = static_cast<uint64_t>(times);
  for (const auto& [id, count] : forms_[static_cast<std::size_t>(value.form)]) {
    const auto now = static_cast<int64_t>(static_cast<uint64_t>(count) * factor);
    if (now != 0) terms.emplace_back(id, now);
  }
  return intern(terms, static_cast<int64_t>(static_cast<uint64_t>(value.offset) * factor));
}

Value Values::sum(Value one, Value other, int64_t times) {
  if (times != 1) other = product(other, times);
  if (other.is_constant()) return one.plus(other.offset);
  if (one.is_constant()) return other.plus(one.offset);
  Terms terms = forms_[static_cast<std::size_t>(one.form)];
  for (const auto& term : forms_[static_cast<std::size_t>(other.form)]) {
    const auto place = std::lower_bound(
        terms.begin(), terms.end(), term.first,
        [](const std::pair<int32_t, int64_t>& a, int32_t id) { return a.first < id; });
    if (place != terms.end() && place->first == term.first) {
      place->second = static_cast<int64_t>(static_cast<uint64_t>(place->second) +
                                           static_cast<uint64_t>(term.second));
      if (place->second == 0) terms.erase(place);
    } else {
      terms.insert(place, term);
    }
  }
  return intern(terms, one.plus(other.offset).offset);
}

const Values::Atom* Values::only(Value value) const {
  const Terms& terms = forms_[static_cast<std::size_t>(value.form)];
  if (terms.size() != 1 || terms[0].second != 1) return nullptr;
  return &atoms_[static_cast<std::size_t>(terms[0].first)];
}

bool Values::is_one(Value value, Unknown kind) const {
  const Atom* one = only(value);
  return one && one->kind == kind;
}

std::string_view Values::symbol_of(Value value) const {
  const Atom* one = only(value);
  if (!one || one->kind != Unknown::Symbol) return {};
  return names_[static_cast<std::size_t>(one->first)];
}

std::pair<int64_t, int64_t> Values::origin(Value value) const {
  const Atom* one = only(value);
  return one ? std::pair{one->first, one->second} : std::pair<int64_t, int64_t>{};
}

}  // namespace guard
