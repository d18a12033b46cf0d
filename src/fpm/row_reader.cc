#include "fpm/row_reader.h"

#include <utility>

namespace rondo::fpm {

namespace {
constexpr std::size_t kPage = 256;  // About a millisecond of a turn.
}

struct RowReader::State {
  Store& store;
  RouteBook& book;
  std::function<void(const Status&)> done;
  std::function<void()> pause;
  bool routes = false;  // Groups first: routes name them.
  std::string cursor = {};
};

RowReader::RowReader(Store& store, RouteBook& book, std::function<void(const Status&)> done, std::function<void()> pause)
    : state_(std::make_shared<State>(State{store, book, std::move(done), std::move(pause)})) {
  book.begin_reading();
  read(state_);
}

void RowReader::go_on() { read(state_); }

void RowReader::read(const std::shared_ptr<State>& state) {
  const BookOptions& tables = state->book.options();
  state->book.begin_page();
  state->store.scan_written(state->routes ? tables.routes : tables.groups, state->cursor, kPage,
                            [weak = std::weak_ptr<State>{state}](const Result<RowPage>& page) {
                              if (const std::shared_ptr<State> self = weak.lock(); self != nullptr) take(self, page);
                            });
}

void RowReader::take(const std::shared_ptr<State>& state, const Result<RowPage>& page) {
  const Status changed = state->book.is_page_void() ? Status{StatusCode::Unavailable, "the rows changed while they were read"} : Status{};
  if (const Status failed = page ? changed : page.error(); !failed.ok()) {
    state->book.end_page();
    if (failed.code() == StatusCode::Unimplemented) state->book.give_up_reading();
    return state->done(failed);
  }
  for (const Record& row : page->rows) state->routes ? state->book.read_route(row) : state->book.read_group(row);
  state->book.end_page();
  state->cursor = page->next;
  if (state->cursor.empty() && std::exchange(state->routes, true)) {
    state->book.end_reading();
    return state->done({});
  }
  state->pause ? state->pause() : read(state);
}

}  // namespace rondo::fpm
