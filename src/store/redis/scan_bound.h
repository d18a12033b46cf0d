// ScanBound: counts the keys that a SCAN returns, so that a server which never ends a SCAN cannot keep a read running without end. A table
// has at most limits::kTableRows rows, and no Redis has enough keys for that many pages.
#pragma once

#include <cstddef>
#include <string>

#include "rondo/base/limits.h"
#include "rondo/store/store.h"

namespace rondo::redis {

class ScanBound {
 public:
  explicit ScanBound(std::size_t keys_most) : keys_most_(keys_most) {}

  void begin() { keys_ = pages_ = 0; }
  /// Counts a page of 'keys' keys. ResourceExhausted: stop the read.
  Status add(std::size_t keys, const TableSpec& spec) {
    keys_ += keys;
    ++pages_;
    if (keys_ <= keys_most_ && pages_ <= limits::kTableRows) return {};
    return {StatusCode::ResourceExhausted, "reading table " + quoted(spec.name) + " stopped: the server named " + std::to_string(keys_) +
                                               " keys in " + std::to_string(pages_) + " pages, above the limit of " +
                                               std::to_string(keys_most_) + " keys"};
  }

 private:
  const std::size_t keys_most_;
  std::size_t keys_ = 0;
  std::size_t pages_ = 0;
};

}  // namespace rondo::redis
