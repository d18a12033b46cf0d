#include "jobs/machine_zone.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "calendar/zone_span.h"
#include "rondo/base/text.h"
#include "rondo/calendar/limits.h"
#include "rondo/calendar/zone.h"

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

/// The zone in a file; empty if there is none.
std::optional<calendar::Zone> zone_in(const files::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(limits::kZoneFileBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  Result<calendar::Zone> zone = calendar::Zone::parse(path.filename().string(), bytes);
  return zone ? std::optional{*std::move(zone)} : std::nullopt;
}

/// The names of the zones of the database: those that its table lists first, because other names are links to them.
std::vector<std::string> names_in(const std::string& database) {
  std::vector<std::string> names{"UTC"};
  std::ifstream table(database + "/zone1970.tab");
  for (std::string line; std::getline(table, line);) {
    std::istringstream columns(line);  // Codes, coordinates, name.
    std::string name;
    if (!line.starts_with('#') && columns >> name >> name >> name) names.push_back(name);
  }
  const auto listed = static_cast<std::ptrdiff_t>(names.size());
  std::error_code error;
  for (files::recursive_directory_iterator at(database, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().lexically_relative(database).string();
    if (name == "posix" || name == "right") at.disable_recursion_pending();
    // Copies of another zone, which is the default of this machine or of rules without one.
    if (at->is_regular_file(error) && name != "localtime" && name != "posixrules") names.push_back(name);
  }
  std::sort(names.begin() + listed, names.end());
  return names;
}

/// The first line of 'etc'/timezone; empty if there is none.
std::string name_in_timezone(const std::string& etc) {
  std::string name;
  std::ifstream file(etc + "/timezone");
  std::getline(file, name);
  return name;
}

}  // namespace

Result<MachineZone> machine_zone(const char* tz, const std::string& etc, const std::string& database) {
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
  const std::string name = name_in_timezone(etc);
  const std::optional<calendar::Zone> own = zone_in(link);
  if (!own && !name.empty()) return MachineZone{name, etc + "/timezone"};
  std::vector<std::string> names = own ? names_in(database) : std::vector<std::string>{};
  if (const auto known = std::ranges::find(names, name); known != names.end()) names.insert(names.begin(), name);
  for (const std::string& candidate : names) {
    const std::optional<calendar::Zone> zone = zone_in(files::path{database} / candidate);
    if (zone && has_same_offsets(*own, *zone)) return MachineZone{candidate, link};
  }
  return failure(StatusCode::NotFound, "'" + link + "' does not tell the name of this machine's time zone");
}

}  // namespace rondo::cli
