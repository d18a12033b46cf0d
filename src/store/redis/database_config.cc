// See redis_database_config.h. The reader visits the files depth first and keeps the path to the current file, to detect a file that
// includes itself.
#include "store/redis/database_config.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/json.h"
#include "rondo/store/redis_limits.h"
#include "store/redis/text_file.h"

namespace rondo {

namespace {

struct DefaultDatabase {
  std::string_view name;
  unsigned id;
  char separator;
};

constexpr std::array<DefaultDatabase, 22> kDefaultDatabases{{
    {"APPL_DB", 0, ':'},
    {"ASIC_DB", 1, ':'},
    {"COUNTERS_DB", 2, ':'},
    {"LOGLEVEL_DB", 3, ':'},
    {"CONFIG_DB", 4, '|'},
    {"PFC_WD_DB", 5, ':'},
    {"FLEX_COUNTER_DB", 5, ':'},
    {"STATE_DB", 6, '|'},
    {"SNMP_OVERLAY_DB", 7, '|'},
    {"RESTAPI_DB", 8, '|'},
    {"GB_ASIC_DB", 9, ':'},
    {"GB_COUNTERS_DB", 10, ':'},
    {"GB_FLEX_COUNTER_DB", 11, ':'},
    {"CHASSIS_APP_DB", 12, '|'},
    {"CHASSIS_STATE_DB", 13, '|'},
    {"APPL_STATE_DB", 14, ':'},
    {"DPU_APPL_DB", 15, ':'},
    {"DPU_APPL_STATE_DB", 16, '|'},
    {"DPU_STATE_DB", 17, '|'},
    {"DPU_COUNTERS_DB", 18, ':'},
    {"EVENT_DB", 19, '|'},
    {"BMP_STATE_DB", 20, '|'},
}};

std::string scope_text(std::string_view name_space, std::string_view container) {
  std::string text;
  if (!name_space.empty()) text += " of namespace '" + std::string{name_space} + "'";
  if (!container.empty()) text += " of container '" + std::string{container} + "'";
  return text;
}

std::string_view kind_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_: return "a number";
    case json::kind::string: return "a text";
    case json::kind::array: return "a list";
    case json::kind::object: return "an object";
  }
  return "?";
}

Status wrong_type(const std::string& where, std::string_view wanted, const json::value& value) {
  return {StatusCode::InvalidArgument, where + " must be " + std::string{wanted} + ", not " + std::string{kind_of(value)}};
}

std::string member_path(const std::string& where, std::string_view name) { return where + "." + std::string{name}; }

/// The text 'name' of 'object'; empty if absent.
Result<std::string> text_member(const json::object& object, std::string_view name, const std::string& where) {
  const json::value* const value = object.if_contains(name);
  if (value == nullptr) return std::string{};
  if (!value->is_string()) return failure(wrong_type(member_path(where, name), "a text", *value));
  return std::string{view(value->get_string())};
}

/// The whole number 'name' of 'object', from 0 to 'most'; 'absent' if absent.
Result<unsigned> number_member(const json::object& object, std::string_view name, unsigned most, unsigned absent,
                               const std::string& where) {
  const json::value* const value = object.if_contains(name);
  if (value == nullptr) return absent;
  if (!value->is_number()) return failure(wrong_type(member_path(where, name), "a number", *value));
  json::error_code error;
  const auto number = value->to_number<unsigned>(error);
  if (error || number > most) {
    return failure(StatusCode::InvalidArgument, member_path(where, name) + " is not a whole number from 0 to " + std::to_string(most));
  }
  return number;
}

/// The object 'name' of the file; null if absent.
Result<const json::object*> object_member(const json::object& file, std::string_view name) {
  const json::value* const value = file.if_contains(name);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) return failure(wrong_type(std::string{name}, "an object", *value));
  return &value->get_object();
}

Result<RedisAddress> read_instance(const std::string& name, const json::value& value) {
  const std::string where = member_path("INSTANCES", name);
  if (!value.is_object()) return failure(wrong_type(where, "an object", value));
  const json::object& object = value.get_object();
  const Result<std::string> path = text_member(object, "unix_socket_path", where);
  if (!path) return failure(path.error());
  const Result<std::string> host = text_member(object, "hostname", where);
  if (!host) return failure(host.error());
  const Result<unsigned> port = number_member(object, "port", 65535, 0, where);
  if (!port) return failure(port.error());
  if (path->empty() && (host->empty() || *port == 0)) {
    return failure(StatusCode::InvalidArgument, where + " has neither unix_socket_path nor hostname and port");
  }
  if (!path->empty() && path->front() != '/') return failure(StatusCode::InvalidArgument, where + ".unix_socket_path must begin with '/'");
  RedisAddress address;
  address.unix_path = *path;
  if (!host->empty()) address.host = *host;
  if (*port != 0) address.port = static_cast<std::uint16_t>(*port);
  return address;
}

using Instances = std::map<std::string, RedisAddress, std::less<>>;

Result<DatabaseEntry> read_database(const std::string& name, const json::value& value, const Instances& instances) {
  const std::string where = member_path("DATABASES", name);
  if (!value.is_object()) return failure(wrong_type(where, "an object", value));
  const json::object& object = value.get_object();
  for (const std::string_view needed : {"id", "separator", "instance"}) {
    if (!object.contains(needed)) return failure(StatusCode::InvalidArgument, where + " has no " + std::string{needed});
  }
  const Result<unsigned> id = number_member(object, "id", limits::kRedisDatabase, 0, where);
  if (!id) return failure(id.error());
  const Result<std::string> separator = text_member(object, "separator", where);
  if (!separator) return failure(separator.error());
  if (*separator != ":" && *separator != "|") {
    return failure(StatusCode::InvalidArgument, where + ".separator is '" + *separator + "', not ':' or '|'");
  }
  const Result<std::string> instance = text_member(object, "instance", where);
  if (!instance) return failure(instance.error());
  const auto found = instances.find(*instance);
  if (found == instances.end()) {
    return failure(StatusCode::InvalidArgument, where + ".instance is '" + *instance + "', which INSTANCES does not have");
  }
  DatabaseEntry entry{found->second, separator->front()};
  entry.address.database = *id;
  return entry;
}

}  // namespace

/// Reads one file and the files that it includes into a DatabaseConfig.
class DatabaseConfigReader {
 public:
  using Scope = std::pair<std::string, std::string>;

  Status read(const std::filesystem::path& path, const Scope& scope) {
    std::error_code ignored;
    const std::filesystem::path real = std::filesystem::weakly_canonical(path, ignored);
    const std::filesystem::path& place = real.empty() ? path : real;
    if (std::find(way_.begin(), way_.end(), place) != way_.end()) {
      return {StatusCode::InvalidArgument, path.string() + ": a file that includes itself: " + way_text(place)};
    }
    if (files_ == limits::kRedisConfigFiles) {
      return {StatusCode::ResourceExhausted, path.string() + ": more than " + std::to_string(limits::kRedisConfigFiles) + " files"};
    }
    ++files_;
    way_.push_back(place);
    const Status done = read_file(path, scope);
    way_.pop_back();
    return done;
  }

  DatabaseConfig take() { return std::move(config_); }

 private:
  Status read_file(const std::filesystem::path& path, const Scope& scope) {
    const Result<std::string> text = redis::read_text_file(path.string(), limits::kRedisConfigBytes);
    if (!text) return text.error();
    json::error_code error;
    const json::value value = json::parse(*text, error);
    if (error) return {StatusCode::InvalidArgument, path.string() + ": not JSON: " + error.message()};
    if (!value.is_object()) return wrong_type(path.string() + ": the file", "an object", value);
    const json::object& file = value.get_object();
    if (!file.contains("DATABASES") && !file.contains("INCLUDES")) {
      return {StatusCode::InvalidArgument, path.string() + ": neither DATABASES nor INCLUDES"};
    }
    if (file.contains("DATABASES")) {
      if (const Status wrong = read_databases(file, scope); !wrong.ok()) return wrong.with_context(path.string());
    }
    const json::value* const includes = file.if_contains("INCLUDES");
    return includes == nullptr ? Status{} : read_includes(*includes, path, scope);
  }

  Status read_databases(const json::object& file, const Scope& scope) {
    const Result<const json::object*> instance_list = object_member(file, "INSTANCES");
    if (!instance_list) return instance_list.error();
    if (*instance_list == nullptr) return {StatusCode::InvalidArgument, "DATABASES without INSTANCES"};
    const Result<const json::object*> database_list = object_member(file, "DATABASES");
    if (!database_list) return database_list.error();
    const auto [place, fresh] = config_.scopes_.try_emplace(scope);
    if (!fresh) return {StatusCode::InvalidArgument, "a second list of databases" + scope_text(scope.first, scope.second)};
    Instances instances;
    for (const auto& member : **instance_list) {
      const std::string name{member.key()};
      Result<RedisAddress> address = read_instance(name, member.value());
      if (!address) return address.error();
      instances.emplace(name, std::move(*address));
    }
    for (const auto& member : **database_list) {
      const std::string name{member.key()};
      Result<DatabaseEntry> entry = read_database(name, member.value(), instances);
      if (!entry) return entry.error();
      place->second.emplace(name, std::move(*entry));
    }
    return {};
  }

  Status read_includes(const json::value& list, const std::filesystem::path& path, const Scope& outer) {
    if (!list.is_array()) return wrong_type(path.string() + ": INCLUDES", "a list", list);
    std::size_t number = 0;
    for (const json::value& value : list.get_array()) {
      const std::string where = path.string() + ": INCLUDES[" + std::to_string(number++) + "]";
      if (!value.is_object()) return wrong_type(where, "an object", value);
      const json::object& object = value.get_object();
      const Result<std::string> name_space = text_member(object, "namespace", where);
      if (!name_space) return name_space.error();
      const Result<std::string> container = text_member(object, "container_name", where);
      if (!container) return container.error();
      const Result<std::string> file = text_member(object, "include", where);
      if (!file) return file.error();
      if (file->empty()) return {StatusCode::InvalidArgument, where + " has no include"};
      const Scope scope{name_space->empty() ? outer.first : *name_space, container->empty() ? outer.second : *container};
      if (const Status wrong = read(path.parent_path() / *file, scope); !wrong.ok()) return wrong.with_context(where);
    }
    return {};
  }

  std::string way_text(const std::filesystem::path& last) const {
    std::string text;
    for (const std::filesystem::path& file : way_) text += file.string() + " -> ";
    return text + last.string();
  }

  DatabaseConfig config_;
  std::vector<std::filesystem::path> way_;
  std::size_t files_ = 0;
};

Result<DatabaseEntry> DatabaseConfig::find(std::string_view name, std::string_view name_space, std::string_view container) const {
  const auto scope = scopes_.find({std::string{name_space}, std::string{container}});
  if (scope == scopes_.end()) {
    std::string known;
    for (const auto& [key, databases] : scopes_) {
      if (!known.empty()) known += ", ";
      known += "'" + key.first + (key.second.empty() ? "'" : "' container '" + key.second + "'");
    }
    return failure(StatusCode::NotFound, "no list of databases" + scope_text(name_space, container) + "; namespaces are: " + known);
  }
  const auto found = scope->second.find(name);
  if (found != scope->second.end()) return found->second;
  std::string known;
  for (const auto& [key, entry] : scope->second) known += (known.empty() ? "" : ", ") + key;
  return failure(StatusCode::NotFound,
                 "no database '" + std::string{name} + "'" + scope_text(name_space, container) + "; there are: " + known);
}

std::vector<std::string> DatabaseConfig::names(std::string_view name_space, std::string_view container) const {
  std::vector<std::string> result;
  const auto scope = scopes_.find({std::string{name_space}, std::string{container}});
  if (scope == scopes_.end()) return result;
  for (const auto& [name, entry] : scope->second) result.push_back(name);
  return result;
}

std::vector<std::pair<std::string, std::string>> DatabaseConfig::scopes() const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& [scope, databases] : scopes_) result.push_back(scope);
  return result;
}

Result<DatabaseConfig> read_database_config(const std::string& path) {
  DatabaseConfigReader reader;
  if (Status wrong = reader.read(path, {}); !wrong.ok()) return failure(std::move(wrong));
  return reader.take();
}

TableKind usual_kind(const DatabaseEntry& database) noexcept { return database.separator == '|' ? TableKind::Watched : TableKind::Staged; }

Result<DatabaseEntry> default_database(std::string_view name) {
  for (const DefaultDatabase& known : kDefaultDatabases) {
    if (known.name != name) continue;
    DatabaseEntry entry;
    entry.address.database = known.id;
    entry.separator = known.separator;
    return entry;
  }
  return failure(StatusCode::NotFound, "no default number is known for the database '" + std::string{name} + "'");
}

std::vector<std::string_view> default_database_names() {
  std::vector<std::string_view> names;
  for (const DefaultDatabase& known : kDefaultDatabases) names.push_back(known.name);
  return names;
}

}  // namespace rondo
