// LatePages: a store whose pages of rows arrive late. Each is read when it is asked for, and delivered by deliver(). Tests only.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "sim/passing_store.h"

namespace rondo {

class LatePages final : public test::PassingStore {
 public:
  using PassingStore::PassingStore;
  Store& inner() noexcept { return store(); }
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override {
    PassingStore::scan_written(table, cursor, max, [this, name = std::string{table}, done = std::move(done)](const Result<RowPage>& page) {
      if (!holds) return done(page);
      late = name;
      deliver_ = [done, page] { done(page); };
    });
  }
  /// Delivers the page that is late; the next one may be late, too.
  void deliver() {
    late.clear();
    if (const auto deliver = std::exchange(deliver_, {})) deliver();
  }

  bool holds = false;  // Pages are late from now on.
  std::string late;    // The table whose page was read and not delivered; empty: there is none.

 private:
  std::function<void()> deliver_;
};

}  // namespace rondo
