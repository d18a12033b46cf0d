// See rondo/store/zmq_client.h.
#include "rondo/store/zmq_client.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/zmq_limits.h"
#include "store/field_views.h"
#include "store/table_rules.h"
#include "store/zmq/endpoint.h"
#include "store/zmq/key_check.h"
#include "store/zmq/outgoing.h"
#include "store/zmq/socket.h"
#include "store/zmq/socket_monitor.h"

namespace rondo {

using store::FrameWriter;
using store::SocketEvent;
using store::SocketMonitor;
using store::ZmqSocket;
using Outgoing = ZmqTable::Outgoing;

/// The source that sends frames.
class ZmqClient::Impl final : public Source {
 public:
  Impl(Scheduler& scheduler, ZmqClientOptions options)
      : Source("direct:client " + options.endpoint, options.priority), scheduler_(scheduler), options_(std::move(options)) {}

  ~Impl() override {
    if (fd_ >= 0) {
      flush();
      scheduler_.reactor().unwatch(fd_);
    }
    monitor_.reset();
    socket_.close();
  }

  Status start() {
    if (Status bad = check_options(); !bad.ok()) return bad;
    Result<ZmqSocket> socket = ZmqSocket::open(context_, ZMQ_PUSH);
    if (!socket) return socket.error();
    socket_ = std::move(*socket);
    if (Status failed = set_options(); !failed.ok()) return failed;
    Result<std::unique_ptr<SocketMonitor>> monitor = SocketMonitor::open(scheduler_, context_, socket_, "direct:client-peer", priority(),
                                                                         [this](const SocketEvent& event) { hear(event); });
    if (!monitor) return monitor.error();
    monitor_ = std::move(*monitor);
    if (Status failed = socket_.connect(options_.endpoint); !failed.ok()) return failed;
    scheduler_.add(*this);
    fd_ = socket_.fd();
    return scheduler_.reactor().watch(fd_, Interest::Read, *this);
  }

  Result<Outgoing*> outgoing(std::string_view database, std::string_view table) {
    if (Status bad = store::check_spec({.name = std::string{table}}); !bad.ok()) return failure(std::move(bad));
    if (database.size() > limits::kNameBytes) return failure(StatusCode::InvalidArgument, "a database's name over the limit of a name");
    auto found = outgoing_.find({std::string{database}, std::string{table}});
    if (found == outgoing_.end()) {
      if (outgoing_.size() >= limits::kTables) return failure(StatusCode::ResourceExhausted, "no room for direct table " + quoted(table));
      auto made = std::make_unique<Outgoing>(database, table, options_.keys_max);
      found = outgoing_.emplace(Name{database, table}, std::move(made)).first;
    }
    return found->second.get();
  }

  Status set(Outgoing& outgoing, std::string_view key, std::span<const Field> fields) {
    if (Status bad = store::check_names(key, fields); !bad.ok()) return bad;
    const std::size_t bytes = FrameWriter::bytes_of(key, fields);
    if (Status bad = check_size(outgoing, key, fields, bytes); !bad.ok()) return bad;
    if (!has_room(outgoing, bytes)) return stage(outgoing, Change::set(key, fields));
    outgoing.frame.set(key, fields);
    gathered(outgoing);
    return {};
  }

  Status remove(Outgoing& outgoing, std::string_view key) {
    const std::size_t bytes = FrameWriter::bytes_of(key, {});
    if (Status bad = check_size(outgoing, key, {}, bytes); !bad.ok()) return bad;
    if (!has_room(outgoing, bytes)) return stage(outgoing, Change::remove(key));
    outgoing.frame.remove(key);
    gathered(outgoing);
    return {};
  }

  Turn run(const Budget& budget) override {
    blocked_ = false;  // Try again: the descriptor may have reported room.
    std::size_t moved = 0;
    const bool done = send_dirty(budget.items, moved);
    notify_room();
    // If blocked, the descriptor reports room later. Otherwise the budget was used up.
    return {.items = static_cast<std::uint32_t>(moved), .backlog = done || blocked_ ? Backlog::Empty : Backlog::More};
  }

  bool flush() {
    blocked_ = false;
    std::size_t moved = 0;
    return send_dirty(SIZE_MAX, moved);
  }

  bool is_flushed() const noexcept { return dirty_.empty(); }
  bool is_connected() const noexcept { return connected_; }
  const ZmqClientStats& stats() const noexcept { return stats_; }

 private:
  using Name = std::pair<std::string, std::string>;

  Status check_options() const {
    if (Status bad = store::check_endpoint(options_.endpoint, store::EndpointUse::Connect); !bad.ok()) return bad;
    if (options_.frame_bytes == 0 || options_.frame_bytes > limits::kZmqFrameBytes) {
      return {StatusCode::InvalidArgument, "frame_bytes is not from 1 to " + std::to_string(limits::kZmqFrameBytes)};
    }
    if (options_.send_frames < 1) return {StatusCode::InvalidArgument, "send_frames is not positive"};
    return store::check_spec({.name = "direct", .rows_max = options_.keys_max}, "keys_max");
  }

  Status set_options() {
    const auto linger = std::chrono::duration_cast<std::chrono::milliseconds>(options_.linger).count();
    const std::pair<int, int> numbers[] = {
        {ZMQ_LINGER, static_cast<int>(std::clamp<std::int64_t>(linger, 0, INT32_MAX))},
        {ZMQ_SNDHWM, options_.send_frames},
        {ZMQ_IPV6, store::is_ipv6(options_.endpoint) ? 1 : 0},
        {ZMQ_TCP_KEEPALIVE, 1},
        {ZMQ_TCP_KEEPALIVE_IDLE, 5},
        {ZMQ_TCP_KEEPALIVE_CNT, 5},
        {ZMQ_TCP_KEEPALIVE_INTVL, 1},
        {ZMQ_RECONNECT_IVL, 50},  // Milliseconds; libzmq doubles it up to two seconds and randomises it.
        {ZMQ_RECONNECT_IVL_MAX, 2000},
    };
    for (const auto& [option, value] : numbers) {
      if (Status failed = socket_.set(option, value); !failed.ok()) return failed;
    }
    return options_.curve ? store::set_curve(socket_, *options_.curve) : Status{};
  }

  Status check_size(const Outgoing& outgoing, std::string_view key, std::span<const Field> fields, std::size_t bytes) const {
    if (bytes <= limits::kNameBytes) return {};  // Smaller than the smallest limit.
    if (Status bad = check_record(key, fields); !bad.ok()) return bad;
    if (outgoing.frame.head_size() + bytes <= limits::kZmqFrameBytes) return {};
    return {StatusCode::InvalidArgument,
            "key " + quoted(key) + " with its fields does not fit a frame of " + std::to_string(limits::kZmqFrameBytes) + " bytes"};
  }

  /// True if an entry of this size may be added to the current frame or, once that is sent, to the next one.
  bool has_room(Outgoing& outgoing, std::size_t bytes) {
    if (!outgoing.is_clear()) return false;
    return outgoing.takes(bytes, options_.frame_bytes) || (!blocked_ && send(outgoing));
  }

  void gathered(Outgoing& outgoing) {
    ++stats_.entries;
    mark_dirty(outgoing);
    if (outgoing.frame.size() >= options_.frame_bytes && !blocked_) send(outgoing);
  }

  void mark_dirty(Outgoing& outgoing) {
    if (outgoing.is_dirty) return;
    outgoing.is_dirty = true;
    dirty_.push_back(&outgoing);
    if (!blocked_) wake();
  }

  Status stage(Outgoing& outgoing, Change change) {
    if (change.op() == ChangeOp::Set) change = {ChangeOp::Set, std::move(change).record().with_distinct_names()};
    std::size_t before = outgoing.waiting->depth();
    Status refused = outgoing.staged->write(change);
    if (!refused.ok() && before >= options_.keys_max) {
      // The writer has not yielded its turn, so the client cannot have seen a report of room: try to send now.
      flush();
      before = outgoing.waiting->depth();
      refused = outgoing.staged->write(std::move(change));
    }
    if (!refused.ok()) {
      ++stats_.refused;
      wants_room_ = true;
      return refused.with_context("direct client, behind " + options_.endpoint);
    }
    ++stats_.entries;
    if (outgoing.waiting->depth() == before) ++stats_.merged;
    mark_dirty(outgoing);
    return {};
  }

  /// Passes the frame to libzmq. False when libzmq has no room; the frame stays.
  bool send(Outgoing& outgoing) {
    const std::string_view bytes = outgoing.frame.bytes();
    if (!socket_.send(bytes)) {
      blocked_ = true;
      ++stats_.blocked;
      return false;
    }
    ++stats_.frames;
    stats_.bytes += bytes.size();
    outgoing.frame.clear();
    return true;
  }

  /// Sends one frame per table in rotation, so that a long staging area delays no other table. True when everything was sent; false when
  /// libzmq has no room or 'max' staged entries were moved.
  bool send_dirty(std::size_t max, std::size_t& moved) {
    while (!dirty_.empty()) {
      if (moved >= max) return false;
      Outgoing& outgoing = *dirty_.front();
      moved += outgoing.refill(options_.frame_bytes);
      if (!outgoing.frame.empty() && !send(outgoing)) return false;
      std::rotate(dirty_.begin(), dirty_.begin() + 1, dirty_.end());
      if (!outgoing.empty()) continue;
      outgoing.is_dirty = false;
      dirty_.pop_back();
    }
    return true;
  }

  void notify_room() {
    if (!wants_room_) return;
    for (const auto& [name, outgoing] : outgoing_) {
      if (outgoing->waiting->depth() > options_.keys_max / 2) return;
    }
    wants_room_ = false;
    if (options_.on_room) options_.on_room();
  }

  void hear(const SocketEvent& event) {
    switch (event.kind) {
      case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        ++stats_.connections;
        set_connected(true);
        break;
      case ZMQ_EVENT_DISCONNECTED: set_connected(false); break;
      default: ++stats_.handshakes_failed; break;
    }
  }

  void set_connected(bool connected) {
    if (std::exchange(connected_, connected) == connected) return;
    if (options_.on_connection) options_.on_connection(connected);
  }

  Scheduler& scheduler_;
  const ZmqClientOptions options_;
  ZmqClientStats stats_;
  std::map<Name, std::unique_ptr<Outgoing>> outgoing_;
  std::vector<Outgoing*> dirty_;  // Tables with something to send; the front is the next one.
  store::ZmqContext context_;
  ZmqSocket socket_;
  std::unique_ptr<SocketMonitor> monitor_;
  int fd_ = -1;
  bool blocked_ = false;  // libzmq had no room; its descriptor will report it.
  bool wants_room_ = false;
  bool connected_ = false;
};

Result<std::unique_ptr<ZmqClient>> ZmqClient::open(Scheduler& scheduler, ZmqClientOptions options) {
  auto parts = std::make_unique<Impl>(scheduler, std::move(options));
  if (Status failed = parts->start(); !failed.ok()) return failure(failed.with_context("direct client"));
  return std::unique_ptr<ZmqClient>{new ZmqClient(std::move(parts))};
}

ZmqClient::ZmqClient(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}
ZmqClient::~ZmqClient() = default;

Result<ZmqTable> ZmqClient::table(std::string_view database, std::string_view table) {
  const Result<Outgoing*> outgoing = impl_->outgoing(database, table);
  if (!outgoing) return failure(outgoing.error());
  return ZmqTable{*this, **outgoing};
}
bool ZmqClient::flush() { return impl_->flush(); }
bool ZmqClient::is_flushed() const noexcept { return impl_->is_flushed(); }
bool ZmqClient::is_connected() const noexcept { return impl_->is_connected(); }
const ZmqClientStats& ZmqClient::stats() const noexcept { return impl_->stats(); }

Status ZmqTable::set(std::string_view key, FieldList fields) { return set(key, FieldViews{fields}.all()); }
Status ZmqTable::set(std::string_view key, std::span<const Field> fields) { return client_->impl_->set(*outgoing_, key, fields); }
Status ZmqTable::remove(std::string_view key) { return client_->impl_->remove(*outgoing_, key); }

Status ZmqTable::write(const Change& change) {
  switch (change.op()) {
    case ChangeOp::Delete: return remove(change.key());
    case ChangeOp::Set: {
      std::vector<Field> fields(change.fields().begin(), change.fields().end());
      return set(change.key(), fields);
    }
    case ChangeOp::Event: break;
  }
  return {StatusCode::InvalidArgument, "direct tables carry no events: " + quoted(change.key())};
}

}  // namespace rondo
