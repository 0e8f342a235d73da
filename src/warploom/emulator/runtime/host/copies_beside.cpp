#include "host/copies_beside.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>

namespace warploom {

namespace {

// Where the link `path` leads; empty: it is none.
std::string target_of(const std::string& path) {
  char text[PATH_MAX];
  const ssize_t length = readlink(path.c_str(), text, sizeof text);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

bool copy_file(const std::string& from, const std::string& to) {
  const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) return false;
  struct stat told{};
  const int made = fstat(source, &told) == 0
                       ? open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                       : -1;
  bool done = made >= 0;
  for (off_t left = told.st_size; done && left > 0;) {
    const ssize_t moved = sendfile(made, source, nullptr, static_cast<std::size_t>(left));
    done = moved > 0;
    left -= std::max<ssize_t>(moved, 0);
  }
  if (made >= 0) close(made);
  close(source);
  return done;
}

// A folder of the program's own, in which all that the other one has is shown by links.
bool link_folder(const std::string& from, const std::string& to) {
  DIR* const folder = opendir(from.c_str());
  if (!folder) return false;
  bool done = mkdir(to.c_str(), 0700) == 0;
  while (const dirent* entry = done ? readdir(folder) : nullptr) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    done = symlink((from + "/" + name).c_str(), (to + "/" + name).c_str()) == 0;
  }
  closedir(folder);
  return done;
}

// Puts a copy in the place of a link to what lies beside.
bool own(const std::string& path) {
  const std::string target = target_of(path);
  if (target.empty() || target.front() != '/') return true;
  struct stat told{};
  const bool there = stat(path.c_str(), &told) == 0;
  if (unlink(path.c_str()) != 0) return false;
  if (!there) return true;
  return S_ISDIR(told.st_mode) ? link_folder(target, path) : copy_file(target, path);
}

}  // namespace

bool copy_from_beside(const char* path) {
  if (path[0] == '/') return false;
  const std::string whole = path;
  for (std::size_t end = whole.find('/');; end = whole.find('/', end + 1)) {
    if (!own(whole.substr(0, end))) return false;
    if (end == std::string::npos) return true;
  }
}

}  // namespace warploom
