// Reader: get() and scan() of the Redis store. Each call ends once, with an answer or because the connection broke.
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
#include "store/redis/writer.h"

namespace rondo::redis {

class Reader {
 public:
  Reader(Connection& commands, store::Completions& completions) noexcept : commands_(commands), completions_(completions) {}

  void get(const Target& target, std::string_view key, GetDone done);
  void scan(const Target& target, std::string_view cursor, std::size_t max, ScanDone done);
  void lost(const Status& why);

 private:
  /// A page under way.
  struct Scan {
    std::string prefix;
    std::string pattern;
    std::size_t max = 1;
    std::string cursor;             // Redis' own; "0" at the end.
    std::vector<std::string> keys;  // Found and not yet in a page.
    RowPage page;
    ScanDone done;
  };
  /// What a page left over: SCAN finds more than it was asked for.
  struct Rest {
    std::string cursor;
    std::vector<std::string> keys;
  };

  void ask(std::size_t answers, std::function<void(const Reply&)> on_reply, std::function<void(const Status&)> on_lost);
  Status resume(std::string_view cursor, Scan& scan);
  void go_on(const std::shared_ptr<Scan>& scan);
  void scanned(const std::shared_ptr<Scan>& scan, const Reply& reply);
  void read_page(const std::shared_ptr<Scan>& scan);
  void finish(const std::shared_ptr<Scan>& scan);

  Connection& commands_;
  store::Completions& completions_;
  std::map<std::uint64_t, std::function<void(const Status&)>> owed_;  // What to do if the answer never comes.
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Rest> rests_;
};

}  // namespace rondo::redis
