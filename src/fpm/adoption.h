// Adoption: reads the rows that an earlier run of the FPM server left in the tables, and gives them to the RouteBook. So after a restart of
// rondod a resend of zebra writes only differences, and routes that zebra does not send are removed. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fpm/route_book.h"
#include "rondo/store/store.h"

namespace rondo::fpm {

class Adoption {
 public:
  /// Begins to read. 'store' and 'book' must outlive the adoption. 'done' is called once, in a later turn. If the store cannot list what is
  /// written (direct tables), nothing is adopted and that is no error.
  Adoption(Store& store, RouteBook& book, std::function<void(const Status&)> done);

 private:
  struct State;
  static void read(const std::shared_ptr<State>& state, std::string cursor);
  std::shared_ptr<State> state_;
};

}  // namespace rondo::fpm
