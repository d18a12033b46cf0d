// Tables that other processes write straight into rondod over ZeroMQ, as far as this program was built with it: direct_maker.cc, or else
// no_direct.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/base/result.h"
#include "rondod/config.h"
#include "rondod/redis_maker.h"

namespace rondo::daemon {

/// Figures of one direct server and of what is written behind it.
struct DirectFigures {
  std::string endpoint;  // As bound.
  std::vector<std::string> tables;
  std::uint64_t connections = 0;
  std::size_t open_connections = 0;
  std::size_t connections_most = 0;
  std::size_t frame_bytes = 0;  // Of frames that are not whole.
  std::uint64_t frames = 0;
  std::uint64_t entries = 0;
  std::uint64_t pauses = 0;
  std::vector<std::pair<std::string_view, std::uint64_t>> faults;  // By cause.
  std::size_t staged = 0;                                          // Keys that nobody has taken yet.
  bool recovered = false;
  std::uint64_t rows_recovered = 0;
  std::uint64_t written = 0;
  std::size_t behind = 0;  // Keys and changes that the store behind has not confirmed.
  std::uint64_t left_out = 0;
};

/// A direct server of this process, in a store. Valid as long as that.
class DirectFeed {
 public:
  virtual ~DirectFeed() = default;
  virtual DirectFigures figures() const = 0;
  /// Reads no more.
  virtual void hold() = 0;
};

struct DirectHooks {
  std::function<void(std::unique_ptr<DirectFeed> feed)> on_open = {};
  /// Something was dropped or has to wait, 'count' times.
  std::function<void(const Status& why, std::uint64_t count)> on_trouble = {};
};

/// What cannot be used, whatever the state of the system. Unimplemented when this program was built without ZeroMQ. Reads the key's file.
Status check_direct(const DirectSettings& settings);

/// A store whose tables 'tables' are direct ones and whose rows are in the store that 'wrapped' makes.
Result<StoreMaker> direct_maker(const DirectSettings& settings, std::vector<std::string> tables, StoreMaker wrapped, DirectHooks hooks);

}  // namespace rondo::daemon
