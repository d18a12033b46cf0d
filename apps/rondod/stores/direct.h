// Tables that other processes write directly into rondod over ZeroMQ. In a build without ZeroMQ registry.cc
// has the functions, which return Unimplemented.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/store/zmq_store.h"
#include "rondod/configuration/config.h"
#include "rondod/stores/store_maker.h"

namespace rondo::daemon {

/// A direct server of this process, in a store. Valid as long as that store.
class DirectFeed {
 public:
  virtual ~DirectFeed() = default;
  /// The address that was bound.
  virtual const std::string& endpoint() const = 0;
  virtual const std::vector<std::string>& tables() const = 0;
  virtual const ZmqServerStats& server() const = 0;
  virtual ZmqStoreStats store() const = 0;
  virtual bool is_recovered() const = 0;
  /// Keys that no consumer has taken yet.
  virtual std::size_t staged() const = 0;
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
