#include "commands/row_lister.h"

#include <utility>

#include "rondo/admin/limits.h"

namespace rondo::commands {

void RowLister::ask(Reply reply) {
  store_.scan(table_, page_.next, limits::kAdminPageRows / 2, [self = shared_from_this(), reply](const Result<RowPage>& page) mutable {
    if (!page) return reply.fail(page.error());
    self->page_ = *page;
    self->next_ = 0;
    self->answer(std::move(reply));
  });
}

void RowLister::answer(Reply reply) {
  while (left_ > 0 && next_ < page_.rows.size() && !reply.page_full()) {
    const Record& row = page_.rows[next_++];
    if (!all_ && !pattern_.matches(row.key())) continue;
    reply.row(make_row_(row));
    --left_;
  }
  const bool page_done = next_ == page_.rows.size();
  if (left_ == 0 || (page_done && page_.next.empty())) return reply.finish();
  reply.next_turn([self = shared_from_this(), page_done](Reply r) {
    if (!r.wanted()) return;
    if (page_done) return self->ask(std::move(r));
    self->answer(std::move(r));
  });
}

}  // namespace rondo::commands
