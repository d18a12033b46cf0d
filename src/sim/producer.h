// Producer: the client that writes a program's tables. It stores the desired content of each row and retries until it is reached. A write
// that was refused, that failed or whose end is unknown makes its key unsure. An unsure key is written again as a whole (a Delete, then
// the row) when none of its writes is under way. So the tables finally have the desired content, whatever happened to the store and the
// process.
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
  /// True if every row has its desired content and this is confirmed.
  bool is_content() const noexcept { return under_way_ == 0 && unsure_.empty(); }

  /// Names a row that is written again, and the newest reason; empty if there is none.
  std::string doubted() const;

  bool is_confirmed(std::string_view table, std::string_view key);

  /// The process has ended with all writes under way. 'all': its tables are lost too.
  void process_ended(bool all);

 private:
  struct Table;
  struct Row {
    Table* table = nullptr;
    std::string_view key;  // Owned by the map.
    Record wanted;         // The desired content; empty: no such row.
    std::uint32_t under_way = 0;
    bool unsure = false;
    Status why;  // While it is unsure.
  };
  using Rows = NodeMap<Row>;

  Row& row(std::string_view table, std::string_view key);
  void write(Row& row, Change change);
  void doubt(Row& row, const Status& why);
  void retry();

  World& world_;
  const bool deletes_first_;
  struct Table {
    std::string_view name;
    Rows rows;
    bool is_declared = false;  // Declared in this process.
  };

  TableMap<Table> tables_;
  std::deque<Row*> unsure_;
  std::size_t under_way_ = 0;
  bool retries_ = false;
};

}  // namespace rondo::sim
