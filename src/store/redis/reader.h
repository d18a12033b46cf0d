// Reader: get(), scan() and scan_written() of the Redis store. Each call ends once, with an answer or because the connection was lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/completions.h"
#include "store/redis/connection.h"
#include "store/redis/scan_bound.h"
#include "store/redis/writer.h"

namespace rondo::redis {

class Reader {
 public:
  /// 'scan_keys_max': see RedisStoreOptions.
  Reader(Connection& commands, store::Completions& completions, std::size_t scan_keys_max) noexcept
      : commands_(commands), completions_(completions), scan_keys_max_(scan_keys_max) {}

  void get(const Target& target, std::string_view key, GetDone done);
  void scan(const Target& target, std::string_view cursor, std::size_t max, ScanDone done);
  /// Scans the waiting keys first: a key that is popped meanwhile has become a row by the time the rows are scanned.
  void scan_written(const Target& target, std::string_view cursor, std::size_t max, ScanDone done);
  void lost(const Status& why);

 private:
  /// The position of a scan.
  struct Place {
    bool written = false;           // The scan is a scan_written().
    bool pending = false;           // The scan is still in the waiting keys.
    std::string cursor = "start";   // The cursor of Redis; "0" at the end.
    std::vector<std::string> keys;  // Keys found and not yet in a page: SCAN returns more than requested.
  };
  /// A page being read.
  struct Scan {
    explicit Scan(std::size_t keys_max) : bound(keys_max) {}
    const Target* target = nullptr;
    Place at;
    std::size_t max = 1;
    RowPage page;
    ScanDone done;
    ScanBound bound;  // The bound for this page: it may skip pages whose keys are not rows.
  };

  void ask(std::size_t answers, const Shape& shape, std::function<void(const Reply&)> on_reply, std::function<void(const Status&)> on_lost);
  void start(const Target& target, Place from, std::string_view cursor, std::size_t max, ScanDone done);
  Status resume(std::string_view cursor, Place& place);
  void go_on(const std::shared_ptr<Scan>& scan);
  void scanned(const std::shared_ptr<Scan>& scan, const Reply& reply);
  void read_rows(const std::shared_ptr<Scan>& scan);
  void read_written(const std::shared_ptr<Scan>& scan);
  void page_read(const std::shared_ptr<Scan>& scan, std::size_t keys);
  void finish(const std::shared_ptr<Scan>& scan);

  Connection& commands_;
  store::Completions& completions_;
  const std::size_t scan_keys_max_;
  std::map<std::uint64_t, std::function<void(const Status&)>> pending_;  // Called if the answer never arrives.
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Place> places_;  // Positions of scans between two pages, by the number in their cursor.
  std::map<std::uint64_t, Place> used_;    // The newest positions of scan() from which a page was read: it may be read again.
};

}  // namespace rondo::redis
