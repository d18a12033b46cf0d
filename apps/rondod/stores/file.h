// Stores that are restored from a file. The functions exist in a build with SQLite only; registry.h is for every build.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/store/durable_store.h"
#include "rondod/stores/store_maker.h"

namespace rondo::daemon {

/// The file of a store of this process. Valid as long as that store.
class TableFile {
 public:
  virtual ~TableFile() = default;
  virtual const std::string& path() const = 0;
  virtual const DurableStoreStats& stats() const = 0;
  /// Why nothing can be written now, or why the file cannot be kept small; since DurableStoreStats::failing_since.
  virtual Status health() const = 0;
};

struct DurableHooks {
  std::function<void(std::unique_ptr<TableFile> file)> on_open = {};
  /// Called when rows were restored: for the log, the file and their number.
  std::function<void(const std::string& file, std::uint64_t rows)> on_restored = {};
  /// See DurableStoreStats.
  std::function<void(const std::string& file, const std::string& why)> on_not_shrunk = {};
};

/// The path of the file at 'url' (parse_durable_address()), without links and dots; empty for a malformed address.
std::optional<std::string> durable_file(std::string_view url);
/// Why the start would refuse the content of the file at 'url'; ok if it would not, or another process has it open now.
Status check_durable_content(const std::string& url);
/// Makes a store whose tables are restored from the file at 'url'.
Result<StoreMaker> make_durable(const std::string& url, DurableHooks hooks);

}  // namespace rondo::daemon
