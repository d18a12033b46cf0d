// DatabaseConfig: SONiC's database_config.json. It lists the databases, each with its Redis, its number, and the separator between table
// and key. The global variant includes one such file for each network namespace or container. Read once; then a plain value. The format and
// the defaults are those of sonic-swss-common.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/store/redis_address.h"
#include "rondo/store/store.h"

namespace rondo {

struct DatabaseEntry {
  /// The Unix socket if the file names one. 'host' and 'port' are from the file, too: clear 'unix_path' to use TCP.
  RedisAddress address;
  /// Between the table's name and the key: ':' or '|'.
  char separator = ':';
  friend bool operator==(const DatabaseEntry&, const DatabaseEntry&) = default;
};

/// How SONiC's programs write and read the tables of this database, by its separator: Watched with '|' (CONFIG_DB, STATE_DB: a writer
/// changes the row itself), Staged with ':' (APPL_DB: the consumer takes the change).
TableKind usual_kind(const DatabaseEntry& database) noexcept;

class DatabaseConfig {
 public:
  /// The database 'name', such as "APPL_DB". 'name_space' and 'container' are those of the global file; if both are empty, the file without
  /// them counts. NotFound if there is none; the message lists the known names. O(log n).
  Result<DatabaseEntry> find(std::string_view name, std::string_view name_space = {}, std::string_view container = {}) const;

  /// Names of the databases of one namespace and container, in their order; empty if that is unknown.
  std::vector<std::string> names(std::string_view name_space = {}, std::string_view container = {}) const;

  /// The namespaces and containers that were read, in order, as {namespace, container}; {"", ""} for the file without them.
  std::vector<std::pair<std::string, std::string>> scopes() const;

 private:
  friend class DatabaseConfigReader;
  using Databases = std::map<std::string, DatabaseEntry, std::less<>>;
  std::map<std::pair<std::string, std::string>, Databases> scopes_;
};

/// Reads the file 'path' and the files it includes; a relative include starts from the folder of the including file.
/// NotFound or PermissionDenied when a file cannot be read. InvalidArgument, with the file, the member and the chain of includes, for:
///   - text that is not JSON, a member of a wrong type, a number out of range, or a separator other than ':' and '|';
///   - a database on an unlisted instance, or a namespace that is included twice;
///   - a file that includes itself directly or indirectly, or that has neither databases nor includes.
/// ResourceExhausted for a file over limits::kRedisConfigBytes, or more than limits::kRedisConfigFiles files. Unknown members are ignored.
/// Blocks on the disk: call it at start-up.
Result<DatabaseConfig> read_database_config(const std::string& path);

/// SONiC's defaults without a file: number and separator of 'name'. The address is a default RedisAddress except for 'database'. NotFound
/// for a name that is not in the list.
Result<DatabaseEntry> default_database(std::string_view name);
/// Names with a default_database(), by number.
std::vector<std::string_view> default_database_names();

}  // namespace rondo
