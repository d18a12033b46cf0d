// RowLister: answers with the rows of a table, page by page: a page of the store, then its rows in as many turns as needed. Scheduler
// thread.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admin/key_pattern.h"
#include "commands/watchers.h"
#include "rondo/admin/command.h"
#include "rondo/base/clock.h"
#include "rondo/store/store.h"

namespace rondo::commands {

/// Lists the rows of a table behind a cursor. If the list ends before the table does, the result has 'next', the cursor of the next call.
/// All cursors are those of Store::scan(), so a row that exists between two calls is in one of the two answers, and in one alone if the
/// store returns each row once.
class RowLister : public std::enable_shared_from_this<RowLister> {
 public:
  using MakeRow = std::function<boost::json::object(const Record& row)>;
  /// Lists the rows whose key matches 'pattern' (all if it is empty), each as 'make_row' converts it. Ends at 'until'.
  RowLister(Store& store, const Clock& clock, std::string table, std::string pattern, Until until, MakeRow make_row)
      : store_(store),
        clock_(clock),
        table_(std::move(table)),
        all_(pattern.empty()),
        pattern_(std::move(pattern)),
        until_(until),
        make_row_(std::move(make_row)) {}

  /// Begins behind 'cursor', at the first row if it is empty. Fails 'reply' if the store does not know the cursor. Call it once.
  void start(std::string cursor, Reply reply);

 private:
  void ask(std::size_t max, Reply reply);
  void match(Reply reply);
  void list(Reply reply);
  void next_page(Reply reply);

  Store& store_;
  const Clock& clock_;
  const std::string table_;
  const bool all_;
  const KeyPattern pattern_;
  Until until_;  // Its count is that of the rows that may still be listed.
  const MakeRow make_row_;
  std::string cursor_;  // Where the page begins.
  RowPage page_;
  std::size_t next_ = 0;            // The next row of the page that is compared with the pattern.
  std::vector<std::size_t> found_;  // The rows of the page that are to be listed.
  std::size_t listed_ = 0;
};

}  // namespace rondo::commands
