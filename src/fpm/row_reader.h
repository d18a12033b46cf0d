// RowReader: reads the rows of the tables once and gives them to the RouteBook. At the start, the book takes over the rows of an earlier
// run: so a resend of zebra writes only differences, and routes that zebra does not send are removed. Later, the book compares the rows
// with what it wrote. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fpm/route_book.h"
#include "rondo/store/store.h"

namespace rondo::fpm {

class RowReader {
 public:
  /// Begins to read. 'store' and 'book' must outlive the reader. 'done' is called once, in a later turn. Unimplemented: the store cannot
  /// list what is written (direct tables). If 'pause' is set, it is called after each page but the last, and go_on() reads the next one.
  RowReader(Store& store, RouteBook& book, std::function<void(const Status&)> done, std::function<void()> pause = {});
  void go_on();

 private:
  struct State;
  static void read(const std::shared_ptr<State>& state);
  static void take(const std::shared_ptr<State>& state, const Result<RowPage>& page);
  std::shared_ptr<State> state_;
};

}  // namespace rondo::fpm
