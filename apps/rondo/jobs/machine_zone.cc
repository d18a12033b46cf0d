#include "jobs/machine_zone.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace files = std::filesystem;

/// The name in a path into the tz database; empty for another path.
std::string name_in(std::string_view path) {
  constexpr std::string_view kFolder = "/zoneinfo/";
  const std::size_t at = path.rfind(kFolder);
  if (at == std::string_view::npos) return {};
  path.remove_prefix(at + kFolder.size());
  // The same zones once more, without and with leap seconds.
  for (const std::string_view part : {"posix/", "right/"}) {
    if (path.starts_with(part)) path.remove_prefix(part.size());
  }
  return std::string{path};
}

}  // namespace

Result<MachineZone> machine_zone(const char* tz, const std::string& etc) {
  if (tz != nullptr) {
    std::string_view value = tz;
    if (value.starts_with(':')) value.remove_prefix(1);
    if (value.empty()) return MachineZone{"UTC", "TZ"};
    const std::string in_path = name_in(value);
    const std::string name = in_path.empty() ? std::string{value} : in_path;
    // "CET-1CEST,M3.5.0,M10.5.0/3" is a rule, and has no name.
    if (name.front() != '/' && name.find_first_of(",<") == std::string::npos) return MachineZone{name, "TZ"};
    return failure(StatusCode::NotFound, "the variable TZ, '" + escape_text(tz) + "', is no name of a time zone");
  }
  const std::string link = etc + "/localtime";
  std::error_code error;
  const files::path target = files::read_symlink(link, error);
  if (!error) {
    if (const std::string name = name_in(target.string()); !name.empty()) return MachineZone{name, link};
  } else if (error.value() == ENOENT) {
    return MachineZone{"UTC", "no " + link};
  }
  const std::string copy = etc + "/timezone";
  std::string name;
  if (std::ifstream file(copy); std::getline(file, name) && !name.empty()) return MachineZone{name, copy};
  return failure(StatusCode::NotFound, "'" + link + "' does not tell the name of this machine's time zone");
}

}  // namespace rondo::cli
