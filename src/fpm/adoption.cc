#include "fpm/adoption.h"

#include <utility>

namespace rondo::fpm {

namespace {
constexpr std::size_t kPage = 256;  // About a millisecond of a turn.
}

struct Adoption::State {
  Store& store;
  RouteBook& book;
  std::function<void(const Status&)> done;
  bool routes = false;  // Groups first: routes name them.
};

Adoption::Adoption(Store& store, RouteBook& book, std::function<void(const Status&)> done)
    : state_(std::make_shared<State>(State{store, book, std::move(done)})) {
  read(state_, {});
}

void Adoption::read(const std::shared_ptr<State>& state, std::string cursor) {
  const BookOptions& tables = state->book.options();
  const auto take = [weak = std::weak_ptr<State>{state}](const Result<RowPage>& page) {
    const std::shared_ptr<State> self = weak.lock();
    if (self == nullptr) return;
    if (!page) {
      const bool cannot = page.error().code() == StatusCode::Unimplemented;
      return self->done(cannot ? Status{} : page.error());
    }
    for (const Record& row : page->rows) self->routes ? self->book.adopt_route(row) : self->book.adopt_group(row);
    if (!page->next.empty()) return read(self, page->next);
    if (self->routes) return self->done({});
    self->routes = true;
    read(self, {});
  };
  state->store.scan_written(state->routes ? tables.routes : tables.groups, cursor, kPage, take);
}

}  // namespace rondo::fpm
