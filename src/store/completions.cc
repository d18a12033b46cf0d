#include "store/completions.h"

#include <utility>

namespace rondo::store {

namespace {
template <class... Callables>
struct Overloaded : Callables... {
  using Callables::operator()...;
};
template <class... Callables>
Overloaded(Callables...) -> Overloaded<Callables...>;
}  // namespace

Completions::Completions(Scheduler& scheduler, std::string name, Priority priority) : Source(std::move(name), priority) {
  scheduler.add(*this);
}

void Completions::push(Completion completion) {
  waiting_.push_back(std::move(completion));
  wake();
}

void Completions::post(WriteDone done, Status status) {
  if (done) push(Write{std::move(done), std::move(status)});
}

void Completions::post(GetDone done, Result<Record> record) {
  if (done) push(Get{std::move(done), std::move(record)});
}

void Completions::post(ScanDone done, Result<RowPage> page) {
  if (done) push(Scan{std::move(done), std::move(page)});
}

Turn Completions::run(const Budget& budget) {
  Turn turn;
  while (turn.items < budget.items && !waiting_.empty()) {
    const Completion completion = std::move(waiting_.front());
    waiting_.pop_front();  // Pop first, because the callback may post more.
    std::visit(Overloaded{[](const Write& write) { write.done(write.status); }, [](const Get& get) { get.done(get.record); },
                          [](const Scan& scan) { scan.done(scan.page); }},
               completion);
    ++turn.items;
    if (turn_is_over(budget, turn.items)) break;
  }
  turn.backlog = waiting_.empty() ? Backlog::Empty : Backlog::More;
  return turn;
}

}  // namespace rondo::store
