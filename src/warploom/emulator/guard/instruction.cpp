#include "instruction.h"

#include <bit>
#include <deque>
#include <string>
#include <unordered_map>

namespace guard {

namespace {

constexpr uint32_t bit(int reg) { return uint32_t{1} << reg; }

Role role_of(char letter) {
  switch (letter) {
    case 'r':
      return Role::Read;
    case 'w':
      return Role::Write;
    case 'm':
      return Role::Modify;
    case 'a':
      return Role::AddressOnly;
    default:
      return Role::None;
  }
}

// All mnemonics, by name.
class Table {
 public:
  Table() {
    moves();
    arithmetic();
    control();
    strings();
    scalars();
    vectors();
    later_vectors();
    float_stack();
  }
  const Mnemonic* find(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
  }

 private:
  struct Form {
    std::string_view roles;  // one word for each number of operands: "rw rrw"; "-": none
    Does does = Does::Compute;
    uint8_t width = 0;
    uint8_t from = 0;
    uint32_t writes = 0;
    bool x87_stack = false;
    bool host_only = false;
    bool tests_bits = false;
  };

  static Mnemonic made(const Form& form) {
    Mnemonic made{.does = form.does,
                  .width = form.width,
                  .from = form.from,
                  .x87_stack = form.x87_stack,
                  .host_only = form.host_only,
                  .tests_bits = form.tests_bits,
                  .writes = form.writes};
    std::string_view left = form.roles;
    while (!left.empty()) {
      const std::string_view word = left.substr(0, left.find(' '));
      left.remove_prefix(word.size() + (word.size() < left.size()));
      const std::size_t count = word == "-" ? 0 : word.size();
      made.counts |= static_cast<uint8_t>(1 << count);
      for (std::size_t at = 0; at < count; at++) made.roles[count][at] = role_of(word[at]);
    }
    return made;
  }

  // Enters each of `names`, which a space parts.
  void add(std::string_view names, const Form& form) {
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(name.size() + (name.size() < names.size()));
      names_.emplace(kept_.emplace_back(name), made(form));
    }
  }

  // Each name also with the suffixes of `suffixes`, and without one.
  void add_sized(std::string_view names, Form form, std::string_view suffixes = "bwlq") {
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(name.size() + (name.size() < names.size()));
      form.width = 0;
      add(name, form);
      for (const char suffix : suffixes) {
        form.width = suffix == 'b' ? 1 : suffix == 'w' ? 2 : suffix == 'l' ? 4 : 8;
        add(std::string(name) + suffix, form);
      }
    }
  }

  void add_conditions(std::string_view start, const Form& form, std::string_view suffixes) {
    for (const std::string_view condition :
         {"o",  "no", "b",  "c",   "nae", "ae",  "nb", "nc", "e", "z",
          "ne", "nz", "be", "na",  "a",   "nbe", "s",  "ns", "p", "pe",
          "np", "po", "l",  "nge", "ge",  "nl",  "le", "ng", "g", "nle"}) {
      const std::string name = std::string(start) + std::string(condition);
      if (suffixes.empty()) {
        add(name, form);
      } else {
        add_sized(name, form, suffixes);
      }
    }
  }

  void moves();
  void arithmetic();
  void control();
  void strings();
  void scalars();
  void vectors();
  void later_vectors();
  void float_stack();

  std::deque<std::string> kept_;
  std::unordered_map<std::string_view, Mnemonic> names_;
};

void Table::moves() {
  add_sized("mov", {.roles = "rw", .does = Does::Move});
  add("movabs movabsq", {.roles = "rw", .does = Does::Move, .width = 8});
  for (const auto& [name, from, to] :
       {std::tuple{"bw", 1, 2}, {"bl", 1, 4}, {"bq", 1, 8}, {"wl", 2, 4}, {"wq", 2, 8}}) {
    const auto width = static_cast<uint8_t>(to), source = static_cast<uint8_t>(from);
    add(std::string("movz") + name,
        {.roles = "rw", .does = Does::MoveZero, .width = width, .from = source});
    add(std::string("movs") + name,
        {.roles = "rw", .does = Does::MoveSign, .width = width, .from = source});
  }
  add("movslq", {.roles = "rw", .does = Does::MoveSign, .width = 8, .from = 4});
  add_sized("lea", {.roles = "aw", .does = Does::Address}, "wlq");
  add_sized("xchg", {.roles = "mm", .does = Does::Exchange});
  add_sized("bswap", {.roles = "m"}, "lq");
  add_sized("movbe", {.roles = "rw"}, "wlq");
  add("pushq push", {.roles = "r", .does = Does::Push, .width = 8});
  add("popq pop", {.roles = "w", .does = Does::Pop, .width = 8});
  add("leave leaveq", {.roles = "-", .does = Does::Leave});
  add_conditions("cmov", {.roles = "rm", .does = Does::Vary}, "wlq");
  add_conditions("set", {.roles = "w", .does = Does::Vary, .width = 1}, "");
}

void Table::arithmetic() {
  add_sized("add", {.roles = "rm", .does = Does::Add});
  add_sized("sub", {.roles = "rm", .does = Does::Subtract});
  add_sized("xor", {.roles = "rm", .does = Does::Xor});
  add_sized("and or", {.roles = "rm"});
  add_sized("adc sbb", {.roles = "rm", .does = Does::Vary});
  add_sized("inc dec neg not", {.roles = "m"});
  add_sized("sal shl", {.roles = "m rm", .does = Does::ShiftLeft});
  add_sized("sar shr rol ror", {.roles = "m rm"});
  add_sized("rcl rcr", {.roles = "m rm", .does = Does::Vary});
  add_sized("shld shrd", {.roles = "rm rrm"}, "wlq");
  add_sized("cmp test", {.roles = "rr"});
  add_sized("bt", {.roles = "rr", .tests_bits = true}, "wlq");
  add_sized("bts btr btc", {.roles = "rm", .tests_bits = true}, "wlq");
  add_sized("bsf bsr", {.roles = "rm"}, "wlq");
  add_sized("popcnt lzcnt tzcnt", {.roles = "rw"}, "wlq");
  add_sized("imul", {.roles = "r rm rrw", .does = Does::Multiply});
  add_sized("mul div idiv", {.roles = "r", .does = Does::Vary, .writes = bit(kRax) | bit(kRdx)});
  add("cltq cdqe cwtl cwde cbtw cbw", {.roles = "-", .does = Does::Vary, .writes = bit(kRax)});
  add("cltd cdq cqto cqo cwtd cwd", {.roles = "-", .does = Does::Vary, .writes = bit(kRdx)});
  add_sized("xadd", {.roles = "mm", .does = Does::Exchange});
  add_sized("cmpxchg", {.roles = "rm", .does = Does::Vary, .writes = bit(kRax)});
  add("cmpxchg8b", {.roles = "m", .does = Does::Vary, .width = 8, .writes = bit(kRax) | bit(kRdx)});
  add("cmpxchg16b",
      {.roles = "m", .does = Does::Vary, .width = 16, .writes = bit(kRax) | bit(kRdx)});
  add("crc32b", {.roles = "rm", .width = 1});
  add("crc32w", {.roles = "rm", .width = 2});
  add("crc32l", {.roles = "rm", .width = 4});
  add("crc32q", {.roles = "rm", .width = 8});
}

void Table::control() {
  add("call callq", {.roles = "r", .does = Does::Call, .width = 8});
  add("jmp jmpq", {.roles = "r", .does = Does::Jump, .width = 8});
  add_conditions("j", {.roles = "r", .does = Does::Branch, .width = 8}, "");
  add("ret retq", {.roles = "-", .does = Does::Return});
  add("ud2", {.roles = "-", .does = Does::Trap});
  add("nop endbr64 pause mfence lfence sfence cld emms fnop fwait", {.roles = "-"});
  add_sized("nop", {.roles = "a"}, "wl");
  add("prefetcht0 prefetcht1 prefetcht2 prefetchnta prefetchw", {.roles = "a"});
  add("rdtsc",
      {.roles = "-", .does = Does::Vary, .writes = bit(kRax) | bit(kRdx), .host_only = true});
  add("cpuid", {.roles = "-",
                .does = Does::Vary,
                .writes = bit(kRax) | bit(kRbx) | bit(kRcx) | bit(kRdx),
                .host_only = true});
}

void Table::strings() {
  for (const auto& [suffix, width] : {std::pair{"b", 1}, {"w", 2}, {"l", 4}, {"q", 8}}) {
    const auto bytes = static_cast<uint8_t>(width);
    const auto named = [&, end = suffix](const char* start) { return std::string(start) + end; };
    add(named("stos"),
        {.roles = "-", .does = Does::StoreString, .width = bytes, .writes = bit(kRdi) | bit(kRcx)});
    add(named("lods"), {.roles = "-",
                        .does = Does::LoadString,
                        .width = bytes,
                        .writes = bit(kRsi) | bit(kRax) | bit(kRcx)});
    add(named("cmps"), {.roles = "-",
                        .does = Does::CompareString,
                        .width = bytes,
                        .writes = bit(kRsi) | bit(kRdi) | bit(kRcx)});
    add(named("scas"),
        {.roles = "-", .does = Does::ScanString, .width = bytes, .writes = bit(kRdi) | bit(kRcx)});
    // movsd and movsl: see read_instruction for movsd, which is also a move of a double.
    if (width != 4) {
      add(named("movs"), {.roles = "-",
                          .does = Does::CopyString,
                          .width = bytes,
                          .writes = bit(kRsi) | bit(kRdi) | bit(kRcx)});
    }
  }
  add("movsl", {.roles = "-",
                .does = Does::CopyString,
                .width = 4,
                .writes = bit(kRsi) | bit(kRdi) | bit(kRcx)});
}

void Table::scalars() {
  add("movss", {.roles = "rw", .width = 4});
  add("movsd movq_xmm movlps movlpd movhps movhpd", {.roles = "rw", .width = 8});
  add("movd", {.roles = "rw", .width = 4});
  add("addss subss mulss divss minss maxss rcpss rsqrtss sqrtss", {.roles = "rm", .width = 4});
  add("addsd subsd mulsd divsd minsd maxsd sqrtsd", {.roles = "rm", .width = 8});
  add("ucomiss comiss", {.roles = "rr", .width = 4});
  add("ucomisd comisd", {.roles = "rr", .width = 8});
  add("cmpss", {.roles = "rrm", .width = 4});
  add("cmpsd", {.roles = "rrm", .width = 8});
  for (const std::string_view name :
       {"eqss", "ltss", "less", "unordss", "neqss", "nltss", "nless", "ordss"}) {
    add("cmp" + std::string(name), {.roles = "rm", .width = 4});
  }
  for (const std::string_view name :
       {"eqsd", "ltsd", "lesd", "unordsd", "neqsd", "nltsd", "nlesd", "ordsd"}) {
    add("cmp" + std::string(name), {.roles = "rm", .width = 8});
  }
  add("cvtss2sd", {.roles = "rm", .width = 4});
  add("cvtsd2ss", {.roles = "rm", .width = 8});
  add("cvtsi2ss cvtsi2sd cvtsi2ssl cvtsi2sdl", {.roles = "rm", .width = 4});
  add("cvtsi2ssq cvtsi2sdq", {.roles = "rm", .width = 8});
  add("cvttss2si cvtss2si cvttss2sil cvtss2sil cvttss2siq cvtss2siq", {.roles = "rw", .width = 4});
  add("cvttsd2si cvtsd2si cvttsd2sil cvtsd2sil cvttsd2siq cvtsd2siq", {.roles = "rw", .width = 8});
  add("roundss", {.roles = "rrm", .width = 4});
  add("roundsd", {.roles = "rrm", .width = 8});
  add("stmxcsr", {.roles = "w", .width = 4});
}

void Table::vectors() {
  add("movaps movapd movups movupd movdqa movdqu movntps movntpd movntdq lddqu",
      {.roles = "rw", .width = 16});
  add("movhlps movlhps", {.roles = "rm", .width = 16});
  add("movntil movnti", {.roles = "rw", .width = 4});
  add("movntiq", {.roles = "rw", .width = 8});
  add("movmskps movmskpd pmovmskb", {.roles = "rw", .width = 4});
  add("addps addpd subps subpd mulps mulpd divps divpd minps minpd maxps maxpd andps andpd andnps "
      "andnpd orps orpd xorps xorpd unpcklps unpcklpd unpckhps unpckhpd paddb paddw paddd paddq "
      "psubb psubw psubd psubq pmullw pmulhw pmulhuw pmuludq pmaddwd pand pandn por pxor pcmpeqb "
      "pcmpeqw pcmpeqd pcmpgtb pcmpgtw pcmpgtd packsswb packssdw packuswb punpcklbw punpcklwd "
      "punpckldq punpcklqdq punpckhbw punpckhwd punpckhdq punpckhqdq pavgb pavgw pminub pminsw "
      "pmaxub pmaxsw psadbw paddsb paddsw paddusb paddusw psubsb psubsw psubusb psubusw pslldq "
      "psrldq psllw pslld psllq psrlw psrld psrlq psraw psrad cmpeqps cmpltps cmpleps cmpunordps "
      "cmpneqps cmpnltps cmpnleps cmpordps cmpeqpd cmpltpd cmplepd cmpunordpd cmpneqpd cmpnltpd "
      "cmpnlepd cmpordpd",
      {.roles = "rm", .width = 16});
  add("sqrtps sqrtpd rcpps rsqrtps cvtdq2ps cvtps2dq cvttps2dq cvtpd2dq cvttpd2dq cvtpd2ps",
      {.roles = "rw", .width = 16});
  add("cvtdq2pd cvtps2pd", {.roles = "rw", .width = 8});
  add("shufps shufpd cmpps cmppd", {.roles = "rrm", .width = 16});
  add("pshufd pshuflw pshufhw", {.roles = "rrw", .width = 16});
  add("pinsrw", {.roles = "rrm", .width = 2});
  add("pextrw", {.roles = "rrw", .width = 2});
}

void Table::later_vectors() {
  add("addsubps addsubpd haddps haddpd hsubps hsubpd pshufb phaddw phaddd phaddsw phsubw phsubd "
      "phsubsw pmaddubsw pmulhrsw psignb psignw psignd pmuldq pmulld pminsb pminsd pminuw pminud "
      "pmaxsb pmaxsd pmaxuw pmaxud pcmpeqq pcmpgtq packusdw blendvps blendvpd pblendvb",
      {.roles = "rm rrm", .width = 16});
  add("pabsb pabsw pabsd movshdup movsldup movntdqa", {.roles = "rw", .width = 16});
  add("movddup pmovsxbw pmovsxwd pmovsxdq pmovzxbw pmovzxwd pmovzxdq", {.roles = "rw", .width = 8});
  add("pmovsxbd pmovsxwq pmovzxbd pmovzxwq", {.roles = "rw", .width = 4});
  add("pmovsxbq pmovzxbq", {.roles = "rw", .width = 2});
  add("ptest", {.roles = "rr", .width = 16});
  add("palignr blendps blendpd pblendw dpps dppd mpsadbw roundps roundpd",
      {.roles = "rrm", .width = 16});
  add("insertps pinsrd", {.roles = "rrm", .width = 4});
  add("pinsrb", {.roles = "rrm", .width = 1});
  add("pinsrq", {.roles = "rrm", .width = 8});
  add("extractps pextrd", {.roles = "rrw", .width = 4});
  add("pextrb", {.roles = "rrw", .width = 1});
  add("pextrq", {.roles = "rrw", .width = 8});
}

void Table::float_stack() {
  add("flds fadds fsubs fsubrs fmuls fdivs fdivrs fcoms fcomps",
      {.roles = "r", .width = 4, .x87_stack = true});
  add("fldl faddl fsubl fsubrl fmull fdivl fdivrl fcoml fcompl",
      {.roles = "r", .width = 8, .x87_stack = true});
  add("fldt", {.roles = "r", .width = 10, .x87_stack = true});
  add("fsts fstps", {.roles = "w", .width = 4, .x87_stack = true});
  add("fstl fstpl", {.roles = "w", .width = 8, .x87_stack = true});
  add("fstpt", {.roles = "w", .width = 10, .x87_stack = true});
  add("filds fiadds fimuls fisubs fidivs", {.roles = "r", .width = 2, .x87_stack = true});
  add("fildl fiaddl fimull fisubl fisubrl fidivl fidivrl",
      {.roles = "r", .width = 4, .x87_stack = true});
  add("fildll fildq", {.roles = "r", .width = 8, .x87_stack = true});
  add("fistps fisttps", {.roles = "w", .width = 2, .x87_stack = true});
  add("fistpl fisttpl fistl", {.roles = "w", .width = 4, .x87_stack = true});
  add("fistpll fistpq fisttpll", {.roles = "w", .width = 8, .x87_stack = true});
  add("fnstcw", {.roles = "w", .width = 2, .x87_stack = true});
  add("fldcw", {.roles = "r", .width = 2, .x87_stack = true});
  add("fnstsw", {.roles = "w -", .width = 2, .writes = bit(kRax), .x87_stack = true});
  add("fld1 fldz fldpi fldl2e fldl2t fldlg2 fldln2 fabs fchs fsqrt frndint fsin fcos fptan fpatan "
      "f2xm1 fyl2x fyl2xp1 fscale fprem fprem1 fxam fucompp fcompp ftst fxtract",
      {.roles = "-", .x87_stack = true});
  add("fld fst fstp fxch fadd fsub fsubr fmul fdiv fdivr faddp fsubp fsubrp fmulp fdivp fdivrp "
      "fucom fucomp fucomi fucomip fcomi fcomip fcmovb fcmove fcmovbe fcmovu fcmovnb fcmovne "
      "fcmovnbe fcmovnu",
      {.roles = "- r rr", .width = 255, .x87_stack = true});
}

const Table& table() {
  static const Table made;
  return made;
}

// Takes the prefixes off `name`.
bool take_prefixes(std::string_view& name, Instruction& instruction) {
  for (;;) {
    const std::size_t gap = name.find_first_of(" \t");
    if (gap == std::string_view::npos) return true;
    const std::string_view prefix = name.substr(0, gap);
    if (prefix == "lock") {
      instruction.locked = true;
    } else if (prefix == "rep") {
      instruction.repeat = Repeat::Always;
    } else if (prefix == "repz" || prefix == "repe") {
      instruction.repeat = Repeat::WhileEqual;
    } else if (prefix == "repnz" || prefix == "repne") {
      instruction.repeat = Repeat::WhileDifferent;
    } else {
      return false;
    }
    name = trimmed(name.substr(gap));
  }
}

bool is_string(Does does) {
  return does == Does::CopyString || does == Does::StoreString || does == Does::LoadString ||
         does == Does::CompareString || does == Does::ScanString;
}

// The widest general register among the operands, where the mnemonic says nothing.
uint8_t register_width(const Instruction& instruction) {
  for (int at = instruction.count - 1; at >= 0; at--) {
    const Operand& operand = instruction.operands[at];
    if (operand.is_register()) return operand.reg.width;
  }
  return 0;
}

const char* judged(Instruction& instruction) {
  const Mnemonic& mnemonic = *instruction.mnemonic;
  if (!(mnemonic.counts >> instruction.count & 1)) return "it has another number of operands";
  instruction.roles = mnemonic.roles[instruction.count];
  int memories = 0;
  for (int at = 0; at < instruction.count; at++) {
    const Operand& operand = instruction.operands[at];
    const Role role = instruction.roles[at];
    if (operand.kind == Operand::Kind::Bad) return "an operand is none that a compiler writes";
    const bool jumps = mnemonic.does == Does::Call || mnemonic.does == Does::Jump;
    if (operand.star && !jumps) return "* stands before an operand";
    if (operand.is_memory() && !(mnemonic.does == Does::Branch) && !(jumps && !operand.star)) {
      memories++;
    }
    if (operand.kind == Operand::Kind::Immediate && role != Role::Read) {
      return "an immediate is written to";
    }
    if (role == Role::AddressOnly && !operand.is_memory() && !operand.is_general()) {
      return "an address is expected";
    }
  }
  if (memories > 1) return "two operands are in memory";
  instruction.width = mnemonic.width;
  if (instruction.width == 0 && instruction.count) instruction.width = register_width(instruction);
  if (memories && instruction.memory() >= 0 && instruction.width == 0) {
    return "the width of its operand in memory is not known";
  }
  if (mnemonic.width == 255) instruction.width = 0;
  if (mnemonic.width == 255 && memories) return "the width of its operand in memory is not known";
  if (instruction.repeat != Repeat::None && !is_string(mnemonic.does)) {
    return "it cannot be repeated";
  }
  // They reach as far as the number in the register says.
  if (memories && mnemonic.tests_bits && instruction.operands[0].is_register()) {
    return "it reaches memory beyond its operand";
  }
  if (instruction.locked && instruction.memory() < 0) return "it cannot be locked";
  return nullptr;
}

}  // namespace

int Instruction::memory() const {
  for (int at = 0; at < count; at++) {
    const Operand& operand = operands[at];
    if (!operand.is_memory() || roles[at] == Role::AddressOnly || roles[at] == Role::None) continue;
    if (does() == Does::Branch) continue;
    if ((does() == Does::Call || does() == Does::Jump) && !operand.star) continue;
    return at;
  }
  return -1;
}

Instruction read_instruction(const Line& line) {
  Instruction instruction;
  std::string_view name = line.name;
  if (!take_prefixes(name, instruction)) {
    instruction.problem = "it has an unknown prefix";
    return instruction;
  }
  thread_local std::vector<std::string_view> parts;
  split_arguments(line.rest, parts);
  // So tzcnt and lzcnt are written where the processor may not have them.
  if (instruction.repeat == Repeat::Always &&
      (name.starts_with("bsf") || name.starts_with("bsr"))) {
    instruction.repeat = Repeat::None;
  }
  // `pause` has two spellings.
  if (instruction.repeat == Repeat::Always && name == "nop" && parts.empty()) {
    instruction.repeat = Repeat::None;
    name = "pause";
  }
  if (name == "rep" && parts.size() == 1 && (parts[0] == "ret" || parts[0] == "retq")) {
    name = parts[0];  // an old idiom of GCC
    parts.clear();
  }
  if (parts.size() > kMostOperands) {
    instruction.problem = "it has another number of operands";
    return instruction;
  }
  instruction.count = static_cast<uint8_t>(parts.size());
  bool vector = false;
  for (std::size_t at = 0; at < parts.size(); at++) {
    instruction.operands[at] = parse_operand(parts[at]);
    vector = vector || (instruction.operands[at].is_register() &&
                        instruction.operands[at].reg.number >= kVector);
  }
  if (name == "movq" && vector) name = "movq_xmm";
  if (name == "movsd" && parts.empty()) name = "movsl";
  instruction.mnemonic = table().find(name);
  if (instruction.mnemonic == nullptr) {
    instruction.problem = "this instruction is not in the list of those that compilers need here";
    return instruction;
  }
  instruction.problem = judged(instruction);
  if (instruction.problem) instruction.mnemonic = nullptr;
  return instruction;
}

}  // namespace guard
