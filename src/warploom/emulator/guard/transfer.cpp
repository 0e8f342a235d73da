#include "transfer.h"

#include <vector>

namespace guard {

namespace {

constexpr uint32_t bit(int reg) { return uint32_t{1} << reg; }
constexpr uint32_t kLostInCalls = bit(kRax) | bit(kRcx) | bit(kRdx) | bit(kRsi) | bit(kRdi) |
                                  bit(kR8) | bit(kR9) | bit(kR10) | bit(kR11);
// Who is called keeps these in its own frame, where the program can change them: pointers into a
// stack reach all of it. A thread that waits keeps none of them either.
constexpr uint32_t kSaved = bit(kRbx) | bit(kR12) | bit(kR13) | bit(kR14) | bit(kR15);

}  // namespace

Value Transfer::address(const State& state, const Operand& operand) {
  Value sum = Values::constant(operand.displacement);
  if (!operand.symbol.empty()) {
    const Value symbol = values_.symbol(operand.symbol);
    sum = values_.sum(
        sum, operand.relocation.empty() ? symbol : values_.computed("relocated", {symbol}));
  }
  if (operand.base >= 0 && operand.base < kGeneral) {
    sum = values_.sum(sum, state.registers[operand.base]);
  }
  if (operand.index != kNoRegister) {
    sum = values_.sum(sum, state.registers[operand.index], operand.scale);
  }
  return sum;
}

// What `operand` loads from memory; the same again until something changes it.
Value Transfer::load(State& state, int32_t at, const Operand& operand, unsigned width) {
  if (operand.relocation == "GOTPCREL") return values_.symbol(operand.symbol);
  const Value loaded = values_.unknown(Unknown::Load, at);
  if (operand.segment || !operand.relocation.empty()) return loaded;
  const Value place = address(state, operand);
  if (const Slot* slot = state.slot(place); slot && slot->width >= width) {
    if (slot->width == width) return slot->value;
    if (width == 4) return values_.low(slot->value);
    return loaded;
  }
  // Only what lies in the frame stays as it is: see State::overwrite.
  if (place.form == state.registers[kRsp].form || values_.is_one(place, Unknown::Frame)) {
    if (!state.slot(place)) {
      state.slots.push_back({place, static_cast<uint8_t>(width), loaded});
    }
  }
  return loaded;
}

Value Transfer::source(State& state, int32_t at, int which, unsigned width) {
  const Operand& operand = code_.steps[at].instruction.operands[which];
  switch (operand.kind) {
    case Operand::Kind::Immediate:
      if (!operand.symbol.empty()) return values_.unknown(Unknown::Load, at, 1 + which);
      return Values::constant(operand.displacement);
    case Operand::Kind::Register:
      if (!operand.is_general() || operand.reg.high) {
        return values_.unknown(Unknown::Load, at, 1 + which);
      }
      return state.registers[operand.reg.number];
    default:
      return load(state, at, operand, width);
  }
}

void Transfer::store(State& state, const Operand& target, Value value, unsigned width, bool known) {
  if (target.segment) return;
  const Value place = address(state, target);
  const bool own =
      place.form == state.registers[kRsp].form || values_.is_one(place, Unknown::Frame);
  if (!own) {
    state.forget_slots();  // it may be anywhere in the stack
    return;
  }
  state.overwrite(place, width);
  if (known && (width == 8 || width == 4)) {
    state.slots.push_back({place, static_cast<uint8_t>(width), value});
  }
}

// Puts `value` into a register or a place in memory.
void Transfer::set(State& state, int32_t at, const Operand& target, Value value, unsigned width) {
  if (target.is_memory()) {
    store(state, target, width == 4 ? values_.low(value) : value, width, true);
    return;
  }
  if (!target.is_general()) return;
  const int8_t reg = target.reg.number;
  Value& now = state.registers[reg];
  if (target.reg.width == 8) {
    now = value;
  } else if (target.reg.width == 4) {
    now = values_.low(value);
  } else {
    // The rest of the register stays.
    now = values_.computed("part", {now, value, Values::constant(at)});
  }
  if (reg == kRsp) move_stack(state, at);
}

void Transfer::move_stack(State& state, int32_t at) {
  Value& stack = state.registers[kRsp];
  if (!is_stack(stack)) {
    const Instruction& instruction = code_.steps[at].instruction;
    const bool rounds = instruction.does() == Does::Compute && instruction.count == 2 &&
                        instruction.operands[0].kind == Operand::Kind::Immediate &&
                        instruction.operands[0].displacement < 0 &&
                        instruction.operands[0].displacement >= -4096 &&
                        code_.steps[at].rounds_down;
    stack = values_.unknown(rounds ? Unknown::Aligned : Unknown::Stack, at);
  }
  const bool frame = values_.is_one(stack, Unknown::Frame);
  if (frame) state.frame_low = stack.offset;
  // What lies below the stack pointer is lost.
  std::erase_if(state.slots, [&](const Slot& slot) {
    return slot.address.form == stack.form ? slot.address.offset < stack.offset : frame;
  });
}

bool Transfer::is_stack(Value value) const {
  return values_.is_one(value, Unknown::Frame) || values_.is_one(value, Unknown::Stack) ||
         values_.is_one(value, Unknown::Aligned) ||
         (values_.is_one(value, Unknown::Meeting) && values_.origin(value).second == kRsp);
}

// What an instruction makes of its operands, where that is a sum; else a new unknown.
Value Transfer::result(State& state, int32_t at, unsigned width) {
  const Instruction& instruction = code_.steps[at].instruction;
  const int last = instruction.count - 1;
  std::vector<Value> values;
  for (int which = 0; which < instruction.count; which++) {
    values.push_back(source(state, at, which, width));
  }
  const bool simple = instruction.count == 2;
  switch (instruction.does()) {
    case Does::Add:
      return values_.sum(values[1], values[0]);
    case Does::Subtract:
      return values_.sum(values[1], values[0], -1);
    case Does::Xor:
      if (values[0] == values[1]) return Values::constant(0);
      break;
    case Does::ShiftLeft:
      if (simple && values[0].is_constant() && values[0].offset >= 0 && values[0].offset < 64 &&
          width == 8) {
        return values_.product(values[1], static_cast<int64_t>(uint64_t{1} << values[0].offset));
      }
      if (instruction.count == 1 && width == 8) return values_.product(values[0], 2);
      break;
    case Does::Multiply:
      if (instruction.count >= 2 && values[0].is_constant() && width == 8) {
        return values_.product(values[1], values[0].offset);
      }
      break;
    default:
      break;
  }
  if (width < 4 || last < 0) return fresh(at, 100);
  // The same instruction of the same values gives the same.
  std::string name(code_.steps[at].instruction.operands[0].is_register() ? "r" : "m");
  name += std::to_string(reinterpret_cast<uintptr_t>(instruction.mnemonic));
  return values_.computed(name, values);
}

void Transfer::clobber(State& state, int32_t at, uint32_t registers) {
  for (int8_t reg = 0; reg < kGeneral; reg++) {
    if (registers >> reg & 1) state.registers[reg] = fresh(at, reg);
  }
}

void Transfer::compute(State& state, int32_t at) {
  const Instruction& instruction = code_.steps[at].instruction;
  const unsigned width = instruction.width;
  const bool varies = instruction.does() == Does::Vary;
  const bool implicit = instruction.count == 1 && instruction.does() == Does::Multiply;
  for (int which = 0; which < instruction.count; which++) {
    const Role role = instruction.roles[which];
    if (role != Role::Write && role != Role::Modify) continue;
    const Operand& target = instruction.operands[which];
    if (target.is_memory()) {
      store(state, target, {}, width, false);
    } else if (target.is_general()) {
      Value value = varies ? fresh(at, target.reg.number) : result(state, at, width);
      set(state, at, target, value, width);
    }
  }
  clobber(state, at, instruction.mnemonic->writes);
  if (implicit) clobber(state, at, bit(kRax) | bit(kRdx));
}

void Transfer::push(State& state, int32_t at) {
  const Value value = source(state, at, 0, 8);
  Value& stack = state.registers[kRsp];
  stack = stack.plus(-8);
  move_stack(state, at);
  state.overwrite(stack, 8);
  state.slots.push_back({stack, 8, value});
}

void Transfer::pop(State& state, int32_t at) {
  Operand top;
  top.kind = Operand::Kind::Memory;
  top.base = kRsp;
  const Value value = load(state, at, top, 8);
  state.registers[kRsp] = state.registers[kRsp].plus(8);
  move_stack(state, at);
  set(state, at, code_.steps[at].instruction.operands[0], value, 8);
}

Hook Transfer::hook(const Instruction& instruction) const {
  const std::string_view name = callee(instruction);
  return name.empty() || code_.functions.contains(name) ? Hook{} : hook_of(name);
}

// Other code of the program runs, and comes back.
void Transfer::go_away(State& state, int32_t at) {
  state.forget_slots();
  state.facts.clear();
  clobber(state, at, kLostInCalls | kSaved);
}

void Transfer::call(State& state, int32_t at) {
  const Instruction& instruction = code_.steps[at].instruction;
  const Hook hook = this->hook(instruction);
  const Value where = state.registers[kRdi], second = state.registers[kRsi];
  bool reads = hook.reads, writes = hook.writes;
  int64_t width = hook.width ? hook.width : second.is_constant() ? second.offset : 0;
  switch (hook.kind) {
    case HookKind::None:
      go_away(state, at);
      return;
    case HookKind::Atomic: {
      const Value read = state.registers[kRdx], write = state.registers[kRcx];
      reads = read.is_constant() && (read.offset & 0xff);
      writes = write.is_constant() && (write.offset & 0xff);
      width = second.is_constant() ? static_cast<uint32_t>(second.offset) : 0;
      break;
    }
    case HookKind::Load:
      reads = true;
      width = second.is_constant() ? static_cast<uint32_t>(second.offset) : 0;
      break;
    default:
      break;
  }
  if (hook.kind == HookKind::Atomic || hook.kind == HookKind::Load) state.facts.clear();
  if (writes) {
    state.check(where, width, true);
  } else if (reads) {
    state.check(where, width, false);
  }
  if (hook.kind != HookKind::Ours) clobber(state, at, kLostInCalls);
}

State Transfer::landing(const State& before, int32_t at) {
  State state = before;
  go_away(state, at);
  state.registers[kRsp] = state.registers[kRsp].plus(code_.steps[at].arguments);
  move_stack(state, at);
  return state;
}

void Transfer::apply(State& state, int32_t at) {
  const Step& step = code_.steps[at];
  const Instruction& instruction = step.instruction;
  if (!instruction.mnemonic) return;
  const unsigned width = instruction.width;
  switch (instruction.does()) {
    case Does::Move:
      set(state, at, instruction.operands[1], source(state, at, 0, width), width);
      break;
    case Does::MoveZero: {
      const Value value = source(state, at, 0, instruction.mnemonic->from);
      set(state, at, instruction.operands[1],
          values_.low(
              values_.computed("zero", {value, Values::constant(instruction.mnemonic->from)})),
          width);
      break;
    }
    case Does::MoveSign: {
      const Value value = source(state, at, 0, instruction.mnemonic->from);
      const bool words = instruction.mnemonic->from == 4;
      set(state, at, instruction.operands[1],
          words ? values_.sign_extended(value)
                : values_.computed("sign", {value, Values::constant(instruction.mnemonic->from),
                                            Values::constant(width)}),
          width);
      break;
    }
    case Does::Address:
      set(state, at, instruction.operands[1], address(state, instruction.operands[0]), width);
      break;
    case Does::Push:
      push(state, at);
      break;
    case Does::Pop:
      pop(state, at);
      break;
    case Does::Leave: {
      state.registers[kRsp] = state.registers[kRbp];
      move_stack(state, at);
      Operand top;
      top.kind = Operand::Kind::Memory;
      top.base = kRsp;
      state.registers[kRbp] = load(state, at, top, 8);
      state.registers[kRsp] = state.registers[kRsp].plus(8);
      move_stack(state, at);
      break;
    }
    case Does::Call:
      call(state, at);
      break;
    case Does::Jump:
      if (step.waits) {
        go_away(state, at);
      }
      break;
    case Does::Exchange:
      for (int which = 0; which < 2; which++) {
        const Operand& target = instruction.operands[which];
        if (target.is_memory()) store(state, target, {}, width, false);
        if (target.is_general()) set(state, at, target, fresh(at, target.reg.number), width);
      }
      break;
    case Does::CopyString:
    case Does::StoreString:
      state.forget_slots();
      clobber(state, at, instruction.mnemonic->writes);
      break;
    case Does::LoadString:
    case Does::CompareString:
    case Does::ScanString:
      clobber(state, at, instruction.mnemonic->writes);
      break;
    case Does::Branch:
    case Does::Return:
    case Does::Trap:
      break;
    default:
      compute(state, at);
  }
}

}  // namespace guard
