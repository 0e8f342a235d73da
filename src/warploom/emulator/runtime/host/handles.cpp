#include "host/handles.h"

#include "report/report.h"
#include "schedule/fiber.h"

namespace warploom {

namespace {

const Process* handle_asker() { return g_current ? g_current->process : nullptr; }

}  // namespace

void Handles::enter(const void* object) { entries_[object] = {handle_asker(), false}; }

void Handles::end(const void* object) {
  const auto found = entries_.find(object);
  if (found != entries_.end()) found->second.ended = true;
}

std::vector<const void*> Handles::living() const {
  std::vector<const void*> found;
  for (const auto& [object, entry] : entries_) {
    if (entry.owner == handle_asker() && !entry.ended) found.push_back(object);
  }
  return found;
}

bool Handles::usable(const void* object) const {
  if (!object) return false;
  const auto found = entries_.find(object);
  if (found == entries_.end()) {
    report_finding(
        {.kind = kinds::emulator_access,
         .message =
             format("a call gets %p for the handle of %s, which no call has given", object, what_),
         .hint = "pass a handle that the program got: a variable may not have been set"});
    stop_run();
  }
  if (found->second.owner != handle_asker()) {
    report_finding({.kind = kinds::foreign_memory,
                    .message = format("a call gets another process's handle of %s", what_),
                    .hint = "a handle means nothing in other processes: make one in each"});
    stop_run();
  }
  return !report_destroyed(found->second.ended, what_);
}

bool report_destroyed(bool destroyed, const char* what) {
  if (!destroyed) return false;
  report_finding({.kind = kinds::use_after_destroy,
                  .message = format("%s is used after it was destroyed", what),
                  .hint = "destroy it after its last use"});
  return true;
}

}  // namespace warploom
