#include "rondod/configuration/user_names.h"

#include <grp.h>
#include <pwd.h>

#include <charconv>
#include <optional>

#include "rondo/store/record.h"

namespace rondo::daemon {

namespace {
std::optional<std::uint32_t> number_in(const std::string& name) {
  std::uint32_t number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, number);
  return read.ec == std::errc{} && read.ptr == end ? std::optional{number} : std::nullopt;
}
}  // namespace

Result<std::uint32_t> group_named(const std::string& name) {
  if (const auto number = number_in(name)) return *number;
  const struct group* const found = ::getgrnam(name.c_str());
  if (found == nullptr) return failure(StatusCode::NotFound, "this system has no group " + quoted(name));
  return found->gr_gid;
}

Result<std::uint32_t> user_named(const std::string& name) {
  if (const auto number = number_in(name)) return *number;
  const struct passwd* const found = ::getpwnam(name.c_str());
  if (found == nullptr) return failure(StatusCode::NotFound, "this system has no user " + quoted(name));
  return found->pw_uid;
}

}  // namespace rondo::daemon
