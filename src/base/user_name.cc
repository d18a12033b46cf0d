// See user_name.h.
#include "base/user_name.h"

#include <pwd.h>

#include <cstdio>
#include <memory>

namespace rondo {

std::string user_name(std::uint32_t user) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file{std::fopen("/etc/passwd", "re")};
  if (file == nullptr) return {};
  while (const passwd* const entry = ::fgetpwent(file.get())) {
    if (entry->pw_uid == user) return entry->pw_name;
  }
  return {};
}

}  // namespace rondo
