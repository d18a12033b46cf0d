// RowLister: answers with the rows of a table, page by page: a page of the store, then its rows in as many turns as needed. Scheduler
// thread.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "admin/key_pattern.h"
#include "rondo/admin/command.h"
#include "rondo/store/store.h"

namespace rondo::commands {

class RowLister : public std::enable_shared_from_this<RowLister> {
 public:
  using MakeRow = std::function<boost::json::object(const Record& row)>;
  /// Lists at most 'most' rows whose key matches 'pattern' (all if it is empty), each as 'make_row' converts it.
  RowLister(Store& store, std::string table, std::string pattern, std::uint64_t most, MakeRow make_row)
      : store_(store),
        table_(std::move(table)),
        all_(pattern.empty()),
        pattern_(std::move(pattern)),
        make_row_(std::move(make_row)),
        left_(most) {}

  void ask(Reply reply);

 private:
  void answer(Reply reply);

  Store& store_;
  const std::string table_;
  const bool all_;
  const KeyPattern pattern_;
  const MakeRow make_row_;
  std::uint64_t left_;
  RowPage page_;
  std::size_t next_ = 0;
};

}  // namespace rondo::commands
