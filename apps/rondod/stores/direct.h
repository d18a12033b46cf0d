// Tables that other processes write directly into rondod over ZeroMQ. In a build without ZeroMQ registry.cc
// has the functions, which return Unimplemented.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/result.h"
#include "rondod/configuration/config.h"
#include "rondod/stores/store_maker.h"

namespace rondo::daemon {

/// Figures of one direct server and of the store behind it.
struct DirectFigures {
  std::string endpoint;  // The address that was bound.
  std::vector<std::string> tables;
  std::uint64_t connections = 0;
  std::size_t open_connections = 0;
  std::size_t connections_most = 0;
  std::size_t frame_bytes = 0;  // Bytes of incomplete frames.
  std::uint64_t frames = 0;
  std::uint64_t entries = 0;
  std::uint64_t pauses = 0;
  std::vector<std::pair<std::string_view, std::uint64_t>> faults;  // By cause.
  std::size_t staged = 0;                                          // Keys that no consumer has taken yet.
  bool recovered = false;
  std::uint64_t rows_recovered = 0;
  std::uint64_t written = 0;
  std::size_t behind = 0;  // Keys and changes that the store behind it has not confirmed.
  std::uint64_t left_out = 0;
};

/// A direct server of this process, in a store. Valid as long as that store.
class DirectFeed {
 public:
  virtual ~DirectFeed() = default;
  virtual DirectFigures figures() const = 0;
};

struct DirectHooks {
  std::function<void(std::unique_ptr<DirectFeed> feed)> on_open = {};
  /// Called when something was dropped or must wait, 'count' times.
  std::function<void(const Status& why, std::uint64_t count)> on_trouble = {};
};

/// Checks the parts of the settings that do not depend on the state of the system, and reads the key's file. Unimplemented, with the
/// packages that were missing, if this program was built without direct tables.
Status check_direct(const DirectSettings& settings);

/// Makes a store whose tables 'tables' are direct and whose rows are in the store that 'wrapped' makes. Errors as of check_direct().
Result<StoreMaker> make_direct(const DirectSettings& settings, std::vector<std::string> tables, StoreMaker wrapped, DirectHooks hooks);

}  // namespace rondo::daemon
