// What one instruction changes in what is known.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "code.h"
#include "hooks.h"
#include "state.h"

namespace guard {

class Transfer {
 public:
  Transfer(const Code& code, Values& values) : code_(code), values_(values) {}

  // Applies the step `at` of the code to `state`.
  void apply(State& state, int32_t at);
  // The address that `operand` of the step stands for.
  Value address(const State& state, const Operand& operand);
  // Which hook a call is, if any.
  Hook hook(const Instruction& instruction) const;
  // The state where an exception of the call `at` lands.
  State landing(const State& state, int32_t at);
  // Whether `value` is one that the stack pointer can have: it has been checked, if it need be.
  bool is_stack(Value value) const;
  Values& values() { return values_; }

 private:
  Value load(State& state, int32_t at, const Operand& operand, unsigned width);
  Value source(State& state, int32_t at, int which, unsigned width);
  void set(State& state, int32_t at, const Operand& target, Value value, unsigned width);
  void store(State& state, const Operand& target, Value value, unsigned width, bool known);
  Value result(State& state, int32_t at, unsigned width);
  void compute(State& state, int32_t at);
  void push(State& state, int32_t at);
  void pop(State& state, int32_t at);
  void go_away(State& state, int32_t at);
  void call(State& state, int32_t at);
  void clobber(State& state, int32_t at, uint32_t registers);
  void move_stack(State& state, int32_t at);
  Value fresh(int32_t at, int reg) { return values_.unknown(Unknown::Result, at, reg); }

  const Code& code_;
  Values& values_;
};

}  // namespace guard
