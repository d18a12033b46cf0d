// DatabaseConfig: SONiC's database_config.json, the list of its databases: on which Redis each is, its number, and the separator between
// table and key. Also the global variant, which includes one such file for each network namespace or container. Read once; a plain value
// after that. Source of the format and of the defaults: sonic-swss-common.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/store/redis_address.h"

namespace rondo {

struct DatabaseEntry {
  /// The Unix socket when the file has one. 'host' and 'port' are the file's too: clear 'unix_path' to go over TCP.
  RedisAddress address;
  /// Between the table's name and the key: ':' or '|'.
  char separator = ':';
  friend bool operator==(const DatabaseEntry&, const DatabaseEntry&) = default;
};

class DatabaseConfig {
 public:
  /// The database 'name', such as "APPL_DB". 'name_space' and 'container' are those of the global file; both empty is the file without
  /// them. NotFound when there is none; the message lists what there is. O(log n).
  Result<DatabaseEntry> find(std::string_view name, std::string_view name_space = {}, std::string_view container = {}) const;

  /// Names of the databases of one namespace and container, in their order; empty when it is unknown.
  std::vector<std::string> names(std::string_view name_space = {}, std::string_view container = {}) const;

  /// The namespaces and containers that were read, in their order: {namespace, container}, {"", ""} for the file without them.
  std::vector<std::pair<std::string, std::string>> scopes() const;

 private:
  friend class DatabaseConfigReader;
  using Databases = std::map<std::string, DatabaseEntry, std::less<>>;
  std::map<std::pair<std::string, std::string>, Databases> scopes_;
};

/// Reads the file 'path' and the files it includes; a relative include starts from the folder of the file that names it.
/// NotFound or PermissionDenied when a file cannot be read; InvalidArgument for what is not JSON, a member of a wrong type, a number out of
/// range, a separator other than ':' and '|', a database on an instance that is not listed, a namespace that is included twice, a file that
/// includes itself on the way, and a file with neither databases nor includes. The message names the file, the member, and the include that
/// led there. ResourceExhausted for a file over limits::kRedisConfigBytes, or more than limits::kRedisConfigFiles of them. Members that are
/// not known are left alone. Waits for the disk: for start-up.
Result<DatabaseConfig> read_database_config(const std::string& path);

/// What a SONiC has when no file says otherwise: number and separator of 'name'; the address is a RedisAddress's default but for
/// 'database'. NotFound for a name that is not in the list.
Result<DatabaseEntry> default_database(std::string_view name);
/// Names that default_database() knows, by number.
std::vector<std::string_view> default_database_names();

}  // namespace rondo
