// Handles: what programs hold of the runtime's objects. A handle is the object's address, and any
// number can be passed in its place; so a table says which addresses were given to whom, and none
// is followed before it was found there.
#pragma once

#include <unordered_map>
#include <vector>

namespace warploom {

struct Process;

// What the tables of all types share.
class Handles {
 public:
  explicit Handles(const char* what) : what_(what) {}  // "a stream"
  // The object is gone, or soon will be: whoever uses its handle is told so.
  void end(const void* object);

 protected:
  // The object is one, and its handle is the running process's.
  void enter(const void* object);
  // False: NULL, or what was destroyed, which has been reported. What no call has given to this
  // process ends the run.
  bool usable(const void* object) const;
  // Those of the running process that have not ended.
  std::vector<const void*> living() const;

 private:
  struct Entry {
    const Process* owner = nullptr;
    bool ended = false;
  };
  const char* what_;
  std::unordered_map<const void*, Entry> entries_;
};

template <class Object, class Handle = Object*>
class HandleTable : public Handles {
 public:
  using Handles::Handles;
  Handle give(Object* object) {
    enter(object);
    return reinterpret_cast<Handle>(object);
  }
  // nullptr: not usable().
  Object* find(Handle handle) const {
    return usable(handle) ? reinterpret_cast<Object*>(handle) : nullptr;
  }
  std::vector<const Object*> living() const {
    std::vector<const Object*> found;
    for (const void* object : Handles::living()) {
      found.push_back(static_cast<const Object*>(object));
    }
    return found;
  }
};

// Reports the use of what was destroyed; `what` has its article.
bool report_destroyed(bool destroyed, const char* what);

}  // namespace warploom
