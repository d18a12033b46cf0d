#include "store/bridge/bridge_store.h"

#include <algorithm>
#include <utility>

#include "store/subscription_handle.h"
#include "store/table_rules.h"

namespace rondo::store::bridge {

/// The source that receives everything from home. In collect() it notifies the consumers that have changes; in its turns it delivers the
/// answers.
class BridgeStore::Inlet final : public Source {
 public:
  Inlet(BridgeStore& store, std::string name) : Source(std::move(name), Priority::p7), store_(store) {}

  Result<Backlog> collect() override {
    store_.room_asked_for_ = false;
    for (std::size_t i = 0; i < store_.open_.size(); ++i) store_.open_[i]->notify();
    return backlog();
  }
  Turn run(const Budget& budget) override {
    Turn turn;
    Ring<Answer>& answers = store_.home_.link().answers;
    while (turn.items < budget.items && answers.available() > 0) {
      Answer answer = answers.take();
      static_cast<void>(answers.release(1));  // The home thread never waits for room in this ring, because there is always room.
      store_.deliver(std::move(answer));
      ++turn.items;
    }
    turn.backlog = backlog();
    return turn;
  }
  bool has_backlog() const override { return store_.home_.link().answers.size() > 0; }
  Backlog backlog() { return store_.home_.link().answers.wait_for_items() ? Backlog::Empty : Backlog::More; }

 private:
  BridgeStore& store_;
};

BridgeStore::BridgeStore(Scheduler& worker, HomeBridge& home)
    : home_(home),
      completions_(worker, home.options().name + " store", Priority::p7),
      inlet_(std::make_unique<Inlet>(*this, home.options().name + " inlet")) {
  worker.add(*inlet_);
  home_.link().inlet = inlet_.get();
  inlet_->backlog();  // Registers the inlet as waiting for items.
}

BridgeStore::~BridgeStore() { home_.close(); }

const TableSpec* BridgeStore::find(std::string_view table) const {
  if (const auto known = specs_.find(table); known != specs_.end()) return &known->second;
  tables();  // Another client may have declared the table since.
  const auto known = specs_.find(table);
  return known == specs_.end() ? nullptr : &known->second;
}

Status BridgeStore::declare(const TableSpec& spec) {
  const auto end = std::make_shared<Status>();
  if (Status lost = home_.call([end, spec](HomeBridge& home) { *end = home.store().declare(spec); }); !lost.ok()) return lost;
  if (end->ok()) specs_.emplace(spec.name, spec);
  return *end;
}

std::vector<TableSpec> BridgeStore::tables() const {
  const auto found = std::make_shared<std::vector<TableSpec>>();
  if (!home_.call([found](HomeBridge& home) { *found = home.store().tables(); }).ok()) return {};
  for (const TableSpec& spec : *found) specs_.emplace(spec.name, spec);
  return *found;
}

Result<Store::Size> BridgeStore::size(std::string_view table) const {
  const auto end = std::make_shared<Result<Size>>();
  if (Status lost = home_.call([end, name = std::string{table}](HomeBridge& home) { *end = home.store().size(name); }); !lost.ok()) {
    return failure(std::move(lost));
  }
  Result<Size> size = *end;
  if (const auto near = popped_.find(table); size && near != popped_.end()) size->staged += near->second->waiting_keys();
  return size;
}

Status BridgeStore::health() const {
  const auto end = std::make_shared<Status>();
  Status lost = home_.call([end](HomeBridge& home) { *end = home.store().health(); });
  return lost.ok() ? *end : lost;
}

// --- Requests.

Status BridgeStore::write(std::string_view table, Change change, WriteDone done) {
  const TableSpec* const spec = find(table);
  if (spec == nullptr) return no_such_table(table);
  if (Status bad = check_change(*spec, change); !bad.ok()) return bad;
  Request request;
  request.table = spec;
  request.change = std::move(change);
  if (done) return ask(std::move(request), std::move(done));
  if (home_.request(std::move(request))) return {};
  return {StatusCode::ResourceExhausted, "table " + quoted(table) + ": too many writes are on their way to the home thread"};
}

Status BridgeStore::ask(Request&& request, Waiting done) {
  if (waiting_.size() >= home_.link().answers.capacity()) {
    home_.note_refused_request();
    return {StatusCode::ResourceExhausted, "table " + quoted(request.table->name) + ": too many questions wait for the home thread"};
  }
  const std::uint64_t id = ++last_id_;
  request.id = id;
  const std::string& table = request.table->name;
  if (!home_.request(std::move(request))) {
    return {StatusCode::ResourceExhausted, "table " + quoted(table) + ": too many writes are on their way to the home thread"};
  }
  waiting_.emplace(id, std::move(done));
  return {};
}

void BridgeStore::deliver(Answer&& answer) {
  auto waiting = waiting_.extract(answer.id);
  if (waiting.empty()) return;
  Waiting& done = waiting.mapped();
  if (auto* write = std::get_if<WriteDone>(&done)) {
    completions_.post(std::move(*write), std::get<Status>(std::move(answer.end)));
  } else if (auto* get = std::get_if<GetDone>(&done)) {
    completions_.post(std::move(*get), std::get<Result<Record>>(std::move(answer.end)));
  } else {
    completions_.post(std::get<ScanDone>(std::move(done)), std::get<Result<RowPage>>(std::move(answer.end)));
  }
}

void BridgeStore::get(std::string_view table, std::string_view key, GetDone done) {
  const TableSpec* const spec = find(table);
  if (spec == nullptr) return completions_.post(std::move(done), failure(no_such_table(table)));
  Request request;
  request.kind = Request::Kind::Get;
  request.table = spec;
  request.text = std::string{key};
  if (Status refused = ask(std::move(request), done); !refused.ok()) completions_.post(std::move(done), failure(std::move(refused)));
}

void BridgeStore::scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  ask_for_page(Request::Kind::Scan, table, cursor, max, std::move(done));
}

void BridgeStore::scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  ask_for_page(Request::Kind::ScanWritten, table, cursor, max, std::move(done));
}

void BridgeStore::ask_for_page(Request::Kind kind, std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) {
  const TableSpec* const spec = find(table);
  if (spec == nullptr) return completions_.post(std::move(done), failure(no_such_table(table)));
  Request request;
  request.kind = kind;
  request.table = spec;
  request.text = std::string{cursor};
  request.max = max;
  if (Status refused = ask(std::move(request), done); !refused.ok()) completions_.post(std::move(done), failure(std::move(refused)));
}

// --- Subscriptions.

Result<std::unique_ptr<Subscription>> BridgeStore::subscribe(std::string_view table, const SubscribeOptions& options, Priority priority) {
  const TableSpec* const spec = find(table);
  if (spec == nullptr) return failure(no_such_table(table));
  const bool popped = spec->kind == TableKind::Staged || spec->kind == TableKind::Queue;
  std::shared_ptr<WorkerSubscription> end;
  if (popped) {
    std::shared_ptr<WorkerSubscription>& kept = popped_[spec->name];
    if (kept == nullptr) kept = std::make_shared<WorkerSubscription>();
    end = kept;
    if (end->is_open()) return failure(has_consumer(*spec));
  } else {
    end = std::make_shared<WorkerSubscription>();
  }
  const auto ring = std::make_shared<ChangeRing>(*spec, home_.options().ring_changes);
  const auto opened = std::make_shared<Status>();
  Status lost = home_.call([=](HomeBridge& home) { *opened = home.open_ring(ring, options, priority); },
                           [=](HomeBridge& home) { home.close_ring(ring.get()); });
  if (lost.ok()) lost = *opened;
  if (!lost.ok()) return failure(std::move(lost));
  end->open(ring, options, [this](Request&& request) { return request_home(std::move(request)); });
  open_.push_back(end.get());
  return store::subscription_of(std::move(end), [this](WorkerSubscription& closing) { forget(closing); });
}

void BridgeStore::forget(WorkerSubscription& end) {
  std::erase(open_, &end);
  end.close();
  // The next consumer's call is made after this one. By then no forwarder uses the ring, so the ring's content is complete.
  home_.post([ring = end.ring(), untold = end.take_unsent_acks()](HomeBridge& home) {
    for (const Change& change : untold) home.ack(ring->spec, change);
    home.close_ring(ring);
  });
}

/// Half of the ring is reserved for writes and reads.
bool BridgeStore::request_home(Request&& request) {
  const std::size_t half = home_.link().requests.capacity() / 2;
  if (home_.link().requests.room(half) < half) {
    ask_for_room();
    return false;
  }
  request.table = &specs_.find(request.table->name)->second;
  return home_.request(std::move(request));
}

/// The home thread wakes the inlet once it has handled the requests that fill the ring.
void BridgeStore::ask_for_room() {
  if (std::exchange(room_asked_for_, true)) return;
  home_.post([](HomeBridge& home) { home.link().inlet->wake_from_any_thread(); });
}

std::size_t BridgeStore::untaken() const {
  std::size_t count = 0;
  for (const WorkerSubscription* end : open_) count += end->waiting_keys();
  return count;
}

}  // namespace rondo::store::bridge
