#include "report.h"

#include <cstdio>

namespace guard {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 32 || byte >= 127) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", byte);
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// An object or a list that is written item by item.
class Writer {
 public:
  Writer(std::string& out, char open, char close) : out_(out), close_(close) { out_ += open; }
  ~Writer() { out_ += close_; }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  std::string& item() {
    if (some_) out_ += ",";
    some_ = true;
    return out_;
  }
  std::string& item(std::string_view name) { return item() += quoted(name) + ":"; }
  void text(std::string_view name, std::string_view value) { item(name) += quoted(value); }
  void number(std::string_view name, int64_t value) { item(name) += std::to_string(value); }

 private:
  std::string& out_;
  char close_;
  bool some_ = false;
};

void write(std::string& out, const Refusal& refusal) {
  Writer object(out, '{', '}');
  object.text("kind", refusal.kind);
  object.text("reason", refusal.reason);
  object.text("pass", refusal.pass);
  object.text("function", refusal.function);
  object.text("file", refusal.file);
  object.number("line", refusal.line);
  object.number("number", refusal.number);
  object.text("text", refusal.text);
}

void write(std::string& out, const std::string& name) { out += quoted(name); }

void write(std::string& out, const Use& use) {
  Writer object(out, '{', '}');
  object.text("function", use.function);
  object.text("symbol", use.symbol);
  object.text("file", use.file);
  object.number("line", use.line);
}

void write(std::string& out, const Inserted& inserted) {
  Writer object(out, '{', '}');
  object.text("function", inserted.function);
  object.text("file", inserted.file);
  object.number("line", inserted.line);
  object.text("text", inserted.text);
  object.text("why", inserted.why);
}

template <typename T>
void write_list(Writer& object, std::string_view name, const std::vector<T>& items) {
  Writer list(object.item(name), '[', ']');
  for (const T& item : items) write(list.item(), item);
}

void write(std::string& out, const std::map<std::string, Counts>& counts) {
  Writer all(out, '{', '}');
  for (const auto& [function, count] : counts) {
    Writer object(all.item(function), '{', '}');
    object.number("accesses", count.accesses);
    object.number("covered", count.covered);
    object.number("exempt", count.exempt);
    object.number("inserted", count.inserted);
    object.number("targets", count.targets);
  }
}

void write(std::string& out, const PassReport& pass) {
  Writer object(out, '{', '}');
  write_list(object, "init", pass.init);
  write_list(object, "defined", pass.defined);
  write_list(object, "functions", pass.functions);
  write_list(object, "uses", pass.uses);
  write_list(object, "inserted", pass.inserted);
  write(object.item("counts"), pass.counts);
}

}  // namespace

void Report::refuse(const Assembly& assembly, const Line& line, std::string_view pass,
                    std::string_view kind, std::string_view reason) {
  constexpr std::size_t kMost = 200;
  if (refused.size() >= kMost) return;
  std::string text(line.name);
  if (!line.rest.empty()) text += (text.empty() ? "" : " ") + std::string(line.rest.substr(0, 400));
  refused.push_back({.kind = std::string(kind),
                     .reason = std::string(reason),
                     .pass = std::string(pass),
                     .function = line.function == kNone
                                     ? ""
                                     : std::string(assembly.functions[line.function].name),
                     .file = line.file == kNone ? "" : assembly.files[line.file].path,
                     .line = line.place,
                     .number = line.number,
                     .text = text});
}

std::string Report::json() const {
  std::string out;
  {
    Writer object(out, '{', '}');
    write_list(object, "refused", refused);
    Writer all(object.item("passes"), '{', '}');
    for (const auto& [name, pass] : passes) write(all.item(name), pass);
  }
  return out + "\n";
}

}  // namespace guard
