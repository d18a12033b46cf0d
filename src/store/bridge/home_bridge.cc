#include "store/bridge/home_bridge.h"

#include <algorithm>
#include <utility>

namespace rondo::store::bridge {

HomeBridge::HomeBridge(Scheduler& home, Store& store, Options options)
    : Source(options.name + " requests", options.requests),
      options_(std::move(options)),
      store_(&store),
      link_(std::make_shared<Link>(options_.requests_max)) {
  home.add(*this);
  backlog();  // Registers this source as waiting for items.
}

HomeBridge::~HomeBridge() { close(); }

void HomeBridge::close() {
  if (std::exchange(closed_, true)) return;
  serve();
  link_->inlet = nullptr;  // Later answers of the store are dropped.
  for (const auto& forwarder : forwarders_) forwarder->ring()->forwarder = nullptr;
  forwarders_.clear();
  if (scheduler() != nullptr) scheduler()->remove(*this);
  store_ = nullptr;
}

void HomeBridge::pause() {
  paused_ = true;
  for (const auto& forwarder : forwarders_) forwarder->pause();
}

// --- Requests, in order.

Turn HomeBridge::run(const Budget& budget) {
  Turn turn;
  turn.items = handle_requests(budget.items);
  handle_calls();
  turn.backlog = backlog();
  return turn;
}

bool HomeBridge::has_backlog() const {
  const std::lock_guard<std::mutex> lock(calls_mutex_);
  return link_->requests.size() > 0 || !calls_.empty();
}

Backlog HomeBridge::backlog() {
  if (!link_->requests.wait_for_items()) return Backlog::More;
  const std::lock_guard<std::mutex> lock(calls_mutex_);
  return calls_.empty() ? Backlog::Empty : Backlog::More;
}

void HomeBridge::serve() {
  do {
    handle_requests(UINT32_MAX);
    handle_calls();
  } while (backlog() == Backlog::More);
}

std::uint32_t HomeBridge::handle_requests(std::uint32_t max) {
  Ring<Request>& requests = link_->requests;
  std::uint32_t count = 0;
  while (count < max && requests.available() > 0) {
    handle(requests.take());
    // The worker never waits for room in this ring: a write without room is refused.
    static_cast<void>(requests.release(1));
    ++handled_;
    ++count;
  }
  return count;
}

void HomeBridge::handle(Request&& request) {
  switch (request.kind) {
    case Request::Kind::Write: write(std::move(request)); return;
    case Request::Kind::Get:
      store_->get(request.table->name, request.text,
                  [link = link_, id = request.id](const Result<Record>& record) { link->answer(id, record); });
      return;
    case Request::Kind::Scan:
      store_->scan(request.table->name, request.text, request.max,
                   [link = link_, id = request.id](const Result<RowPage>& page) { link->answer(id, page); });
      return;
    case Request::Kind::ScanWritten:
      store_->scan_written(request.table->name, request.text, request.max,
                           [link = link_, id = request.id](const Result<RowPage>& page) { link->answer(id, page); });
      return;
    case Request::Kind::Ack: ack(*request.table, request.change); return;
    case Request::Kind::Requeue: requeue(*request.table, request.text); return;
  }
}

void HomeBridge::ack(const TableSpec& table, const Change& change) {
  for (const auto& forwarder : forwarders_) {
    if (forwarder->ring()->spec.name == table.name) forwarder->ack(change);
  }
}

void HomeBridge::requeue(const TableSpec& table, std::string_view key) {
  for (const auto& forwarder : forwarders_) {
    if (forwarder->ring()->spec.name == table.name) forwarder->requeue(key);
  }
}

void HomeBridge::write(Request&& request) {
  WriteDone done;
  if (request.id != 0) done = [link = link_, id = request.id](const Status& status) { link->answer(id, status); };
  Status refused = store_->write(request.table->name, std::move(request.change), std::move(done));
  if (refused.ok()) return;
  if (request.id == 0) refused_.fetch_add(1, std::memory_order_relaxed);
  link_->answer(request.id, std::move(refused));
}

bool HomeBridge::request(Request&& request) {
  if (link_->requests.room() == 0 && !threaded_ && !closed_) serve();  // The caller is the home thread.
  if (link_->requests.room() == 0) {
    note_refused_request();
    return false;
  }
  link_->requests.put(std::move(request));
  ++requested_;
  if (link_->requests.publish()) signal();
  return true;
}

// --- Calls.

Status HomeBridge::call(std::function<void(HomeBridge&)> what, std::function<void(HomeBridge&)> undo) {
  if (!threaded_) {
    if (closed_) return {StatusCode::Unavailable, "worker '" + options_.name + "' has lost its home"};
    serve();
    what(*this);
    return {};
  }
  const std::shared_ptr<Call> call = add_call(std::move(what), std::move(undo));
  std::unique_lock<std::mutex> lock(calls_mutex_);
  if (calls_changed_.wait_for(lock, options_.call_wait, [&] { return call->done; })) return {};
  call->abandoned = true;
  late_calls_.fetch_add(1, std::memory_order_relaxed);
  return {StatusCode::DeadlineExceeded, "worker '" + options_.name + "' waited too long for a turn at home"};
}

void HomeBridge::post(std::function<void(HomeBridge&)> what) {
  if (threaded_) {
    add_call(std::move(what), {});
  } else if (!closed_) {
    serve();
    what(*this);
  }
}

std::shared_ptr<HomeBridge::Call> HomeBridge::add_call(std::function<void(HomeBridge&)> what, std::function<void(HomeBridge&)> undo) {
  auto call = std::make_shared<Call>();
  call->after = requested_;
  call->what = std::move(what);
  call->undo = std::move(undo);
  {
    const std::lock_guard<std::mutex> lock(calls_mutex_);
    calls_.push_back(call);
  }
  signal();
  return call;
}

void HomeBridge::handle_calls() {
  while (const std::shared_ptr<Call> call = next_call()) {
    call->what(*this);
    finish(call);
  }
}

std::shared_ptr<HomeBridge::Call> HomeBridge::next_call() {
  const std::lock_guard<std::mutex> lock(calls_mutex_);
  while (!calls_.empty() && calls_.front()->abandoned) calls_.pop_front();
  if (calls_.empty() || calls_.front()->after > handled_) return nullptr;
  std::shared_ptr<Call> call = std::move(calls_.front());
  calls_.pop_front();
  return call;
}

void HomeBridge::finish(const std::shared_ptr<Call>& call) {
  bool undo = false;
  {
    const std::lock_guard<std::mutex> lock(calls_mutex_);
    undo = call->abandoned;
    call->done = true;
  }
  if (undo && call->undo) call->undo(*this);
  calls_changed_.notify_all();
}

void HomeBridge::signal(bool surely) {
  wake_from_any_thread();
  // The home thread does not listen yet. The request was handed over before the signal, so the first serve() after listen_for_signals()
  // handles it.
  if (!surely && !signal_wanted_.load(std::memory_order_seq_cst)) return;
  const std::lock_guard<std::mutex> lock(signal_mutex_);
  signalled_ = true;
  signal_changed_.notify_all();
}

void HomeBridge::wait_for_signal() {
  std::unique_lock<std::mutex> lock(signal_mutex_);
  signal_changed_.wait(lock, [this] { return signalled_; });
  signalled_ = false;
}

// --- Change rings.

bool HomeBridge::consumes(std::string_view table) const {
  return std::ranges::any_of(forwarders_, [table](const auto& forwarder) { return forwarder->ring()->spec.name == table; });
}

Status HomeBridge::open_ring(const std::shared_ptr<ChangeRing>& ring, const SubscribeOptions& options, Priority priority) {
  Result<std::unique_ptr<Subscription>> far = store_->subscribe(ring->spec.name, options);
  if (!far) return far.error();
  auto forwarder = std::make_unique<Forwarder>(ring->spec.name + " to " + options_.name, priority, ring, std::move(*far), *link_);
  if (paused_) forwarder->pause();
  ring->forwarder = forwarder.get();
  scheduler()->add(*forwarder);
  forwarder->start();
  forwarders_.push_back(std::move(forwarder));
  return {};
}

void HomeBridge::close_ring(const ChangeRing* ring) {
  std::erase_if(forwarders_, [ring](const std::unique_ptr<Forwarder>& forwarder) { return forwarder->ring() == ring; });
}

}  // namespace rondo::store::bridge
