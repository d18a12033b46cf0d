#include "commands/row_lister.h"

#include <algorithm>
#include <utility>

#include "commands/answers.h"
#include "rondo/admin/limits.h"

namespace rondo::commands {

namespace {
constexpr std::size_t kRowsOfPage = limits::kAdminPageRows / 2;
}  // namespace

void RowLister::start(std::string cursor, Reply reply) {
  page_.next = std::move(cursor);
  next_page(std::move(reply));
}

void RowLister::ask(std::size_t max, Reply reply) {
  store_.scan(table_, cursor_, max, [self = shared_from_this(), reply](const Result<RowPage>& page) mutable {
    if (!page) return reply.fail(page.error());
    self->page_ = *page;
    self->next_ = self->listed_ = 0;
    self->found_.clear();
    // Only a turn of the connection has an end for page_full().
    reply.next_turn([self](Reply r) { self->match(std::move(r)); });
  });
}

/// Finds the rows of the page that match. The store has a cursor only for the end of a page. So if a page has more rows than may be listed,
/// it is read again, up to the last one of them.
void RowLister::match(Reply reply) {
  for (; next_ < page_.rows.size() && !reply.page_full(); ++next_) {
    if (!all_ && !pattern_.matches(page_.rows[next_].key())) continue;
    if (found_.size() == until_.count) return ask(found_.back() + 1, std::move(reply));
    found_.push_back(next_);
  }
  if (next_ == page_.rows.size()) return list(std::move(reply));
  reply.next_turn([self = shared_from_this()](Reply r) { self->match(std::move(r)); });
}

void RowLister::list(Reply reply) {
  while (listed_ < found_.size() && !reply.page_full()) reply.row(make_row_(page_.rows[found_[listed_++]]));
  if (listed_ < found_.size()) return reply.next_turn([self = shared_from_this()](Reply r) { self->list(std::move(r)); });
  until_.count -= found_.size();
  if (page_.next.empty()) return reply.finish();
  if (until_.count == 0 || clock_.now() >= until_.deadline) return reply.finish({{"next", text(page_.next)}});
  next_page(std::move(reply));
}

void RowLister::next_page(Reply reply) {
  if (!reply.wanted()) return;
  cursor_ = page_.next;
  // Without a pattern each row of the page is listed.
  ask(all_ ? static_cast<std::size_t>(std::min<std::uint64_t>(kRowsOfPage, until_.count)) : kRowsOfPage, std::move(reply));
}

}  // namespace rondo::commands
