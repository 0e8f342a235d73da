#include "flow.h"

#include <algorithm>
#include <set>

#include "data.h"
#include "transfer.h"

namespace guard {

namespace {

// Stack arguments that callers pass: read without a hook up to this distance. Beyond may lie
// another stack.
constexpr int64_t kMostArguments = 1 << 10;
// What a block's index and the thread's are read from: see g_here in device.h.
constexpr int64_t kHereBytes = 52;
// A kernel's arguments take no more.
constexpr int64_t kMostOfClosure = 1 << 15;

// One access of an instruction.
struct Access {
  Value address;
  int64_t width = 0;  // 0: not known before it runs
  bool read = false, write = false;
  bool by_stack_pointer = false;
};

class Flow {
 public:
  Flow(const Assembly& assembly, const Code& code)
      : assembly_(assembly),
        code_(code),
        transfer_(code, values_),
        constants_(constants_of(assembly)),
        states_(code.blocks.size()),
        outs_(code.blocks.size()),
        before_(code.blocks.size()),
        visits_(code.blocks.size()),
        given_(code.blocks.size()) {
    for (int32_t at = 0; at < static_cast<int32_t>(code.blocks.size()); at++) {
      const Block& block = code.blocks[at];
      if (block.is_pad && block.family != kNone) landings_[block.family].push_back(at);
      for (const int32_t next : block.next) before_[next].push_back(at);
    }
  }

  Findings find() {
    start();
    while (!waiting_.empty()) {
      // In the order of the text, which is nearly that of the ways through it.
      const int32_t at = *waiting_.begin();
      waiting_.erase(waiting_.begin());
      run(at);
    }
    for (int32_t at = 0; at < static_cast<int32_t>(code_.blocks.size()); at++) judge(at);
    return std::move(findings_);
  }

 private:
  void enqueue(int32_t at) { waiting_.insert(at); }

  void start() {
    for (int32_t at = 0; at < static_cast<int32_t>(code_.blocks.size()); at++) {
      const Block& block = code_.blocks[at];
      if (!block.is_entry && !block.is_open && !(block.is_pad && block.family == kNone)) continue;
      State& state = states_[at];
      state.reached = true;
      given_[at] = true;
      for (int8_t reg = 0; reg < kGeneral; reg++) {
        state.registers[reg] = values_.unknown(Unknown::Entry, at, reg);
      }
      // Where anybody may come from, the stack pointer is one of its function's.
      state.registers[kRsp] = block.is_entry ? values_.unknown(Unknown::Frame, at)
                                             : values_.unknown(Unknown::Stack, -1 - at);
      enqueue(at);
    }
  }

  // Goes through a block and on to those behind it.
  void run(int32_t at) {
    const Block& block = code_.blocks[at];
    if (!enter(at)) return;
    State state = states_[at];
    for (int32_t step = block.first; step < block.last; step++) {
      const Instruction& instruction = code_.steps[step].instruction;
      const bool throws = instruction.mnemonic && instruction.does() == Does::Call &&
                          block.family != kNone && landings_.contains(block.family) &&
                          transfer_.hook(instruction).kind == HookKind::None;
      if (throws) throw_to_pads(block.family, step, transfer_.landing(state, step));
      transfer_.apply(state, step);
    }
    if (same(outs_[at], state)) return;
    outs_[at] = std::move(state);
    for (const int32_t next : block.next) enqueue(next);
  }

  // Puts together what is known at the beginning of a block. Returns whether it is reached.
  bool enter(int32_t at) {
    if (given_[at]) return true;  // nothing is known that other ways could take away
    paths_.clear();
    for (const int32_t from : before_[at]) {
      if (outs_[from].reached && !goes_nowhere(from, at)) paths_.push_back(&outs_[from]);
    }
    const Block& block = code_.blocks[at];
    if (block.is_pad && block.family != kNone) {
      for (const auto& [step, thrown] : thrown_[block.family]) paths_.push_back(&thrown);
    }
    if (paths_.empty()) return false;
    // What does not settle is given up: then what differs once is unknown for good.
    constexpr int kPatience = 12;
    const bool late = ++visits_[at] > kPatience;
    State state = meeting(paths_, values_, at, late || block.is_pad);
    if (late) {
      const State now = std::move(state);
      state = meeting({&now, &states_[at]}, values_, at, true);
    }
    states_[at] = std::move(state);
    return true;
  }

  // Behind a call that does not return there may stand a part of the function that belongs to other
  // paths: then the stack is another one there. Nobody is to go on that way.
  bool goes_nowhere(int32_t from, int32_t at) {
    if (endless_.contains(from)) return true;
    const Block& block = code_.blocks[from];
    const int32_t last = block.last - 1;
    if (from + 1 != at || last < block.first) return false;
    const Instruction& instruction = code_.steps[last].instruction;
    if (!instruction.mnemonic || instruction.does() != Does::Call) return false;
    const Value mine = outs_[from].registers[kRsp];
    const bool other = std::any_of(before_[at].begin(), before_[at].end(), [&](int32_t path) {
      if (!outs_[path].reached || endless_.contains(path)) return false;
      const Value theirs = outs_[path].registers[kRsp];
      // Variables of unknown size may have been made on one of two ways.
      return mine != theirs && values_.is_one(theirs, Unknown::Frame) &&
             (theirs.offset == 0 || values_.is_one(mine, Unknown::Frame));
    });
    if (other) endless_.insert(from);
    return other;
  }

  void throw_to_pads(int32_t family, int32_t step, State state) {
    State& known = thrown_[family][step];
    if (same(known, state)) return;
    known = std::move(state);
    for (const int32_t at : landings_[family]) enqueue(at);
  }

  Counts& counts(int32_t step) {
    const int32_t function = assembly_.lines[code_.steps[step].line].function;
    return findings_
        .counts[function == kNone ? std::string_view{} : assembly_.functions[function].name];
  }

  void refuse(int32_t step, const char* reason) { findings_.refused.emplace_back(step, reason); }

  // Once for each function.
  void refuse_frameless(int32_t step) {
    if (!frameless_.insert(assembly_.lines[code_.steps[step].line].function).second) return;
    refuse(step, "it keeps no frame pointer (does an attribute change how it is compiled?)");
  }

  // A read that waits for the check of a write to the same place, which comes behind it.
  struct Pending {
    int32_t step;
    Access access;
    std::size_t gap;  // the place of its gap
  };

  void judge(int32_t at) {
    const Block& block = code_.blocks[at];
    State state = states_[at];
    if (!state.reached) return;
    entry_ = block.label;
    pending_.clear();
    for (int32_t step = block.first; step < block.last; step++) {
      const Instruction& instruction = code_.steps[step].instruction;
      if (!instruction.mnemonic) continue;
      judge_accesses(state, step);
      judge_control(state, step);
      const Value stack = state.registers[kRsp];
      transfer_.apply(state, step);
      settle(state, instruction);
      judge_stack(stack, state.registers[kRsp], step);
    }
    if (block.falls_out || endless_.contains(at)) {
      findings_.gaps.push_back(
          {.what = Gap::What::End, .step = block.last - 1, .why = "a function without an end"});
    }
    // Gaps that a later check closes have lost their width.
    std::erase_if(findings_.gaps, [](const Gap& gap) { return gap.why == nullptr; });
  }

  // Clang checks one write where a read and a write of the same place follow each other.
  void settle(const State& state, const Instruction& instruction) {
    if (instruction.does() != Does::Call && !instruction.mnemonic->writes) return;
    if (instruction.does() != Does::Call) return;
    if (transfer_.hook(instruction).kind != HookKind::Check) {
      pending_.clear();
      return;
    }
    for (const Pending& pending : pending_) {
      Gap& gap = findings_.gaps[pending.gap];
      if (gap.why && state.checked(pending.access.address,
                                   static_cast<unsigned>(pending.access.width), true)) {
        gap.why = nullptr;
        Counts& count = counts(pending.step);
        count.covered++;
        count.inserted--;
      }
    }
  }

  // Is it a read of what cannot change, or an access of the program's own frame?
  bool is_exempt(const State& state, const Access& access) {
    const Value address = access.address;
    if (in_frame(state, access)) return true;
    if (access.write || access.width == 0) return false;
    const std::string_view symbol = values_.symbol_of(address);
    if (!symbol.empty()) {
      const auto found = constants_.find(symbol);
      const int64_t bytes = found != constants_.end() ? found->second
                            : symbol == kHere         ? kHereBytes
                                                      : 0;
      return address.offset >= 0 && address.offset + access.width <= bytes;
    }
    // A kernel's arguments, in memory of the runtime.
    const auto [block, reg] = values_.origin(address);
    return values_.is_one(address, Unknown::Entry) && reg == kRdi && address.offset >= 0 &&
           address.offset + access.width <= kMostOfClosure && is_invoker(code_.blocks[block].label);
  }

  bool in_frame(const State& state, const Access& access) {
    const Value address = access.address, stack = state.registers[kRsp];
    if (access.width == 0) return false;
    const int64_t end = address.offset + access.width;
    if (values_.is_one(address, Unknown::Frame)) {
      const int64_t low = stack.form == address.form ? stack.offset : state.frame_low;
      if (address.offset < low) return false;
      // Above lie the caller's frame pointer, the return address and the arguments on the stack.
      return end <= (saves_frame_pointer(state, address) ? -8 : 0) ||
             (!access.write && end <= kMostArguments);
    }
    if (address.form != stack.form || address.offset < stack.offset) return false;
    if (values_.is_one(address, Unknown::Aligned)) {
      // The frame pointer may lie there, too.
      const Value frame = state.registers[kRbp];
      return end <= (access.write && frame.form == address.form ? frame.offset : 0);
    }
    constexpr int64_t kMostPassed = 4096;  // arguments for a call
    return !access.write && access.by_stack_pointer && end - stack.offset <= kMostPassed;
  }

  // Does the slot below the return address hold the caller's frame pointer?
  bool saves_frame_pointer(const State& state, Value frame) {
    return state.registers[kRbp] == Value{frame.form, -8};
  }

  void accesses_of(const State& state, int32_t step, std::vector<Access>& accesses) {
    const Instruction& instruction = code_.steps[step].instruction;
    accesses.clear();
    const Does does = instruction.does();
    if (does == Does::CopyString || does == Does::StoreString || does == Does::LoadString ||
        does == Does::CompareString || does == Does::ScanString) {
      string_accesses(state, instruction, accesses);
      return;
    }
    const int which = instruction.memory();
    if (which < 0) return;
    const Operand& operand = instruction.operands[which];
    const Role role = instruction.roles[which];
    const uint8_t from = instruction.mnemonic->from;
    accesses.push_back({.address = transfer_.address(state, operand),
                        .width = from ? from : instruction.width,
                        .read = role != Role::Write,
                        .write = role != Role::Read,
                        .by_stack_pointer = operand.base == kRsp && operand.index == kNoRegister});
  }

  void string_accesses(const State& state, const Instruction& instruction,
                       std::vector<Access>& accesses) {
    const Does does = instruction.does();
    const Value count = state.registers[kRcx];
    constexpr int64_t kMost = int64_t{1} << 32;
    int64_t width = instruction.width;
    if (instruction.repeat != Repeat::None) {
      const bool known = count.is_constant() && count.offset >= 0 && count.offset < kMost;
      width = known ? width * count.offset : 0;
      if (known && width == 0) return;
    }
    if (does != Does::StoreString && does != Does::ScanString) {
      accesses.push_back({.address = state.registers[kRsi], .width = width, .read = true});
    }
    if (does != Does::LoadString) {
      const bool writes = does == Does::CopyString || does == Does::StoreString;
      accesses.push_back(
          {.address = state.registers[kRdi], .width = width, .read = !writes, .write = writes});
    }
  }

  void judge_accesses(const State& state, int32_t step) {
    const Instruction& instruction = code_.steps[step].instruction;
    const int which = instruction.memory();
    if (which >= 0) {
      const Operand& operand = instruction.operands[which];
      if (operand.segment) {
        judge_segment(operand, step);
        return;
      }
      // A place in the thread's variables, whose start is in a register, is as any other.
      const bool in_thread = (operand.relocation == "dtpoff" || operand.relocation == "DTPOFF") &&
                             operand.base >= 0 && operand.base < kGeneral;
      if (!operand.relocation.empty() && !in_thread) {
        const bool loads = (operand.relocation == "GOTPCREL" || operand.relocation == "gottpoff") &&
                           operand.base == kRip && instruction.roles[which] == Role::Read &&
                           operand.displacement == 0;
        if (!loads) refuse(step, "this relocation is for loads of addresses alone");
        return;
      }
    }
    accesses_of(state, step, accesses_);
    for (const Access& access : accesses_) judge_access(state, step, access);
  }

  // What the compiler keeps at fixed places of the thread.
  void judge_segment(const Operand& operand, int32_t step) {
    const bool fixed = operand.base == kNoRegister && operand.index == kNoRegister;
    const bool known = operand.symbol.empty()
                           ? operand.displacement == 0 || operand.displacement == 40
                           : operand.relocation == "tpoff" && operand.displacement == 0;
    if (!fixed || !known) refuse(step, "only fixed places of the thread's own memory are known");
  }

  void judge_access(const State& state, int32_t step, const Access& access) {
    const Instruction& instruction = code_.steps[step].instruction;
    Counts& count = counts(step);
    count.accesses++;
    if (access.width > 0 &&
        state.checked(access.address, static_cast<unsigned>(access.width), access.write)) {
      count.covered++;
      return;
    }
    if (is_exempt(state, access)) {
      count.exempt++;
      return;
    }
    const bool string = instruction.memory() < 0;
    // A store of a function without a frame could hit the place where it returns to. Before it
    // makes one, a hook has its own.
    const bool frameless = access.write && !has_frame(state);
    const bool early = state.registers[kRsp] == Value{state.registers[kRsp].form, 0} &&
                       values_.is_one(state.registers[kRsp], Unknown::Frame);
    if (frameless && (!early || uses_frame_pointer(instruction))) refuse_frameless(step);
    const Gap gap{.what = string ? Gap::What::Range : Gap::What::Access,
                  .step = step,
                  .width = string ? instruction.width : static_cast<unsigned>(access.width),
                  .read = access.read,
                  .write = access.write,
                  .reg = !string                                                  ? kNoRegister
                         : access.write || instruction.does() == Does::ScanString ? kRdi
                                                                                  : kRsi,
                  .frameless = frameless,
                  .why = access.write ? "a write without a hook" : "a read without a hook"};
    count.inserted++;
    if (!string && !access.write) pending_.push_back({step, access, findings_.gaps.size()});
    findings_.gaps.push_back(gap);
  }

  // Is the caller's frame pointer where %rbp points, so that the runtime finds this frame? Parts of
  // functions that lie elsewhere begin with what the function left.
  bool has_frame(const State& state) {
    const Value frame = state.registers[kRbp];
    if (is_callers_frame(frame)) return !code_.blocks[values_.origin(frame).first].is_function();
    if (!saves_frame_pointer(state, frame) && !values_.is_one(frame, Unknown::Aligned))
      return false;
    const Slot* link = state.slot(frame);
    return link && link->width == 8 && is_callers_frame(link->value);
  }

  static bool uses_frame_pointer(const Instruction& instruction) {
    const int which = instruction.memory();
    if (which < 0) return false;
    const Operand& operand = instruction.operands[which];
    return operand.base == kRbp || operand.index == kRbp;
  }

  bool is_callers_frame(Value value) {
    return value.offset == 0 && values_.is_one(value, Unknown::Entry) &&
           values_.origin(value).second == kRbp;
  }

  void judge_return(const State& state, int32_t step) {
    // One that was rounded down is restored from a register, and checked then.
    const Value stack = state.registers[kRsp];
    const bool whole =
        values_.is_one(stack, Unknown::Frame) || values_.is_one(stack, Unknown::Stack);
    if (stack.offset != 0 || !whole) {
      refuse(step, "it returns while the stack is not as it was");
    }
    const int32_t function = assembly_.lines[code_.steps[step].line].function;
    const bool elsewhere = function == kNone || is_part(assembly_.functions[function].name);
    if (!elsewhere && !is_callers_frame(state.registers[kRbp])) refuse_frameless(step);
  }

  void judge_control(const State& state, int32_t step) {
    const Instruction& instruction = code_.steps[step].instruction;
    const Does does = instruction.does();
    if (does == Does::Return) judge_return(state, step);
    if (does == Does::Call && !has_frame(state)) refuse_frameless(step);
    if (does != Does::Call && does != Does::Jump && does != Does::Branch) return;
    if (code_.steps[step].waits) return;
    const Operand& operand = instruction.operands[0];
    const std::string_view name = callee(instruction);
    if (name.empty()) {
      if (!operand.star) refuse(step, "it goes to no label");
      if (operand.star && does == Does::Jump) {
        refuse(step, "where it jumps to cannot be checked (a computed goto, or a table)");
      }
      if (operand.star && does == Does::Call) {
        counts(step).targets++;
        findings_.gaps.push_back(
            {.what = Gap::What::Target, .step = step, .why = "an indirect call"});
      }
      return;
    }
    judge_target(name, operand.star, does, step);
  }

  void judge_target(std::string_view name, bool star, Does does, int32_t step) {
    const auto label = code_.blocks_by_label.find(name);
    const bool inside = label != code_.blocks_by_label.end();
    const bool function = code_.functions.contains(name);
    if (star && (name == "warploom_barrier" || name == "warploom_meet")) {
      refuse(step, "only the headers of warploom wait this way");
    } else if (is_invoker(name)) {
      // What it reads of its argument has no hooks: the runtime says what that may be.
      refuse(step, "only the emulator calls what runs a kernel");
    } else if (does == Does::Call && inside && !function) {
      refuse(step, "it calls what is no function");
    } else if (!inside && !function && name.starts_with(".L")) {
      refuse(step, "it goes to no label");
    } else if (!is_symbol(name)) {
      refuse(step, "it goes to no label");
    }
  }

  void judge_stack(Value before, Value after, int32_t step) {
    if (before == after) return;
    const bool fresh = values_.is_one(after, Unknown::Stack) && after.offset == 0 &&
                       values_.origin(after).first == step && after.form != before.form;
    constexpr int64_t kPage = 4096;
    const bool far = after.form == before.form && before.offset - after.offset > kPage;
    if (!fresh && !far) return;
    findings_.gaps.push_back(
        {.what = Gap::What::Stack,
         .step = step,
         .why = fresh ? "the stack moves by an unknown amount" : "a large frame"});
  }

  const Assembly& assembly_;
  const Code& code_;
  Values values_;
  Transfer transfer_;
  std::unordered_map<std::string_view, int64_t> constants_;
  std::vector<State> states_, outs_;  // by block: where it begins and ends
  std::vector<std::vector<int32_t>> before_;
  std::vector<int> visits_;
  std::vector<bool> given_;  // the state where the block begins is none of other blocks
  std::vector<const State*> paths_;
  // What holds where an exception of a call lands, by family and step.
  std::unordered_map<int32_t, std::map<int32_t, State>> thrown_;
  std::unordered_map<int32_t, std::vector<int32_t>> landings_;
  std::set<int32_t> waiting_;
  std::set<int32_t> frameless_;  // functions that were refused
  std::set<int32_t> endless_;    // blocks that end with a call that does not return
  std::vector<Access> accesses_;
  std::vector<Pending> pending_;
  std::string_view entry_;
  Findings findings_;
};

}  // namespace

Findings find_gaps(const Assembly& assembly, const Code& code) {
  return Flow(assembly, code).find();
}

}  // namespace guard
