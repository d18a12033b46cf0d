// Producer: the client that writes a program's tables. It knows what it wants each row to be and does not give up: a write that was
// refused, failed or whose end is unknown makes its key unsure, and an unsure key is written anew as a whole (a Delete, then the row) when
// none of its writes is under way. So in the end the tables hold what it wants, whatever the store and the process went through.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "rondo/store/change.h"
#include "sim/key_map.h"

namespace rondo {
class Runtime;
}

namespace rondo::sim {

class World;

class Producer {
 public:
  Producer(World& world, bool deletes_first) : world_(world), deletes_first_(deletes_first) {}

  void set(std::string_view table, std::string_view key, std::span<const Field> fields);
  void remove(std::string_view table, std::string_view key);
  /// Everything is as it wants it, and confirmed.
  bool is_content() const noexcept { return under_way_ == 0 && unsure_.empty(); }

  bool is_confirmed(std::string_view table, std::string_view key);

  /// The process is gone, with all writes under way; 'all': and with its tables.
  void process_ended(bool all);

 private:
  struct Table;
  struct Row {
    Table* table = nullptr;
    std::string_view key;  // The map's.
    Record wanted;         // Empty: no such row.
    std::uint32_t under_way = 0;
    bool unsure = false;
  };
  using Rows = NodeMap<Row>;

  Row& row(std::string_view table, std::string_view key);
  void write(Row& row, Change change);
  void doubt(Row& row);
  void retry();

  World& world_;
  const bool deletes_first_;
  struct Table {
    std::string_view name;
    Rows rows;
    bool is_declared = false;  // In this process.
  };

  TableMap<Table> tables_;
  std::deque<Row*> unsure_;
  std::size_t under_way_ = 0;
  bool retries_ = false;
};

}  // namespace rondo::sim
