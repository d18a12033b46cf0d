#include "fpm/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace rondo::fpm {

namespace {

/// How often the server checks whether a resend has ended, and tries again to write what the store refused.
constexpr Duration kLook = 100ms;
/// A resend that named no stale route for so many times ServerOptions::quiet is over, although messages arrive.
constexpr int kUnnamed = 10;
/// How long a session lasts at least before the server ends it, so that zebra sends everything again.
constexpr Duration kResendPause = 60s;
/// How often the server compares the tables that zebra has named with their VRFs.
constexpr Duration kVrfCheck = 1s;
/// How soon the server looks again whether fewer routes are under way. Rows that wait for something else are not under way, and the data
/// plane does not answer them.
constexpr Duration kRoomWait = 1ms;
/// How soon the server asks again for routes that the data plane did not have.
constexpr Duration kAnswerWait = 10ms;
/// How long a refused connection keeps further ones out of the log.
constexpr Duration kRefusalsSilent = 60s;
/// Sessions that were replaced within this time of each other are counted together: one alone is a zebra that connects again.
constexpr Duration kReplacedApart = 60s;
/// Connections that a turn accepts.
constexpr int kAcceptsATurn = 16;
/// The receive buffer asked for, so that zebra can send while a long turn runs.
constexpr int kSessionBuffer = 4 * 1024 * 1024;
/// Between two pages of a comparison, which take about a millisecond each.
constexpr Duration kPagePause = 20ms;
/// How soon a comparison begins again that could not read the rows.
constexpr Duration kCompareAgain = 1s;
/// When writes are repeated that the store refused after it had accepted them.
constexpr Duration kFirstRepeat = 500ms;
constexpr Duration kLastRepeat = 32s;

struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

Result<Endpoint> to_endpoint(const std::string& text, std::uint16_t port) {
  const Result<IpAddress> address = IpAddress::parse(text);
  if (!address) return failure(address.error());
  Endpoint endpoint;
  if (address->is_v6()) {
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&endpoint.address);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    ::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr);
    endpoint.length = sizeof(sockaddr_in6);
  } else {
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&endpoint.address);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    ::inet_pton(AF_INET, text.c_str(), &v4->sin_addr);
    endpoint.length = sizeof(sockaddr_in);
  }
  return endpoint;
}

std::uint16_t port_of(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

BookOptions book_options(const ServerOptions& options) {
  BookOptions book = options.book;
  book.answers = static_cast<bool>(options.is_programmed);
  return book;
}

std::string to_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v6 = address.ss_family == AF_INET6;
  const void* const bytes = is_v6 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr)
                                  : static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  ::inet_ntop(address.ss_family, bytes, text.data(), text.size());
  const std::string host{text.data()};
  return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port_of(address));
}

}  // namespace

std::string_view to_string(Resync resync) noexcept {
  switch (resync) {
    case Resync::NoSession: return "no session";
    case Resync::Receiving: return "receiving";
    case Resync::Held: return "held";
    case Resync::Sweeping: return "sweeping";
    case Resync::Silent: return "waiting for protocols";
    case Resync::Done: return "done";
  }
  return "";
}

Server::Server(Scheduler& scheduler, Store& store, ServerOptions options)
    : Source("fpm", options.priority),
      scheduler_(scheduler),
      store_(store),
      options_(std::move(options)),
      book_(store, book_options(options_)),
      repeat_wait_(kFirstRepeat),
      timer_("fpm resync", options_.priority, [this] { check(); }),
      room_timer_("fpm room", options_.priority, [this] { wake(); }),
      page_timer_("fpm comparison", options_.priority, [this] { rows_->go_on(); }) {}

Server::~Server() {
  if (scheduler() != nullptr) scheduler_.reactor().unwatch_all(*this);
}

Result<std::unique_ptr<Server>> Server::open(Scheduler& scheduler, Store& store, ServerOptions options) {
  std::unique_ptr<Server> server{new Server(scheduler, store, std::move(options))};
  scheduler.add(*server);
  scheduler.add(server->timer_);
  scheduler.add(server->room_timer_);
  scheduler.add(server->page_timer_);
  if (Status status = server->listen(); !status.ok()) return failure(std::move(status));
  server->timer_.arm_every(kLook, scheduler.now() + kLook);
  return server;
}

Status Server::listen() {
  if (options_.address.empty()) return {};
  const Result<Endpoint> endpoint = to_endpoint(options_.address, options_.port);
  if (!endpoint) return endpoint.error();
  listener_ = UniqueFd{::socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!listener_) return status_from_errno(errno, "socket");
  const int on = 1;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // zebra's old session may be in TIME_WAIT.
  const auto* const address = reinterpret_cast<const sockaddr*>(&endpoint->address);
  const std::string where = options_.address + " port " + std::to_string(options_.port);
  if (::bind(listener_.get(), address, endpoint->length) != 0 || ::listen(listener_.get(), 4) != 0) {
    return status_from_errno(errno, "listening at " + where);
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  port_ = port_of(bound);
  endpoint_ = to_text(bound);
  return {};
}

void Server::begin() {
  if (!listener_) return;
  if (Status watched = scheduler_.reactor().watch(listener_.get(), Interest::Read, *this); !watched.ok()) last_end_ = watched.to_string();
}

void Server::report(Event event) const {
  if (on_event_) on_event_(event);
}

void Server::stop() {
  if (session_) end_session(Event::Kind::Closed, "rondod ends");
  if (!listener_) return;
  scheduler_.reactor().unwatch(listener_.get());
  listener_.reset();
}

void Server::devices_changed() {
  book_.devices_changed();
  wake();
}

void Server::rows_were_lost() {
  book_.rows_were_lost();
  wake();
}

void Server::routes_answered() {
  if (book_.has_unanswered() || (!has_room_ && room() >= limits::kFpmUnderWay / 4)) wake();
}

// --- the rows in the tables

void Server::adopt(std::function<void(const Status&)> done) {
  rows_ = std::make_unique<RowReader>(store_, book_, [this, done = std::move(done)](const Status& status) {
    can_compare_ = status.ok() && options_.compare > Duration{0};
    next_comparison_ = scheduler_.now() + options_.compare;
    // The reader calls this: it is destroyed by the next reading.
    done(status.code() == StatusCode::Unimplemented ? Status{} : status);
  });
}

void Server::compared(const Status& status) {
  is_reading_ = false;
  comparisons_ += status.ok() ? 1U : 0U;
  next_comparison_ = scheduler_.now() + (status.ok() ? options_.compare : kCompareAgain);
  if (std::exchange(compares_again_, false)) next_comparison_ = scheduler_.now();
  wake();
}

/// A comparison that is under way has read some rows already.
void Server::compare_soon() {
  compares_again_ = is_reading_;
  next_comparison_ = scheduler_.now();
}

/// The time doubles while the store goes on to refuse.
void Server::repeat_refused(Instant now) {
  if (!book_.has_refused()) {
    if (refuses_ && now >= repeat_at_) {
      refuses_ = false;
      repeat_wait_ = kFirstRepeat;
    }
    return;
  }
  if (!std::exchange(refuses_, true)) repeat_at_ = now + repeat_wait_;
  if (now < repeat_at_) return;
  if (book_.repeat_refused()) compare_soon();
  wake();
  if (book_.has_refused()) return;  // Too many for one turn.
  repeat_wait_ = std::min(2 * repeat_wait_, kLastRepeat);
  repeat_at_ = now + repeat_wait_;
}

/// Removes rows of FPM that a comparison found and this session has no route for, such as one whose Delete the store refused.
void Server::sweep_found() {
  const bool all = scheduler_.now() - since_ >= options_.silence;
  const std::size_t due = book_.stale() - (all ? 0 : book_.silent());
  if (due == 0) {
    if (std::exchange(found_held_, false) && options_.none_stale) options_.none_stale();
    return;
  }
  found_held_ = true;
  if (options_.may_delete && !options_.may_delete(due, book_.figures().routes)) return;
  book_.sweep(all);
  wake();
}

void Server::check_rows() {
  const Instant now = scheduler_.now();
  repeat_refused(now);
  if (can_compare_ && !is_reading_ && now >= next_comparison_) {
    is_reading_ = true;
    rows_ = std::make_unique<RowReader>(
        store_, book_, [this](const Status& status) { compared(status); }, [this] { page_timer_.arm_at(scheduler_.now() + kPagePause); });
  }
  if (resync_ == Resync::Done && !book_.is_sweeping() && (book_.stale() > 0 || found_held_)) sweep_found();
}

// --- sessions

void Server::accept_all() {
  for (int accepted = 0; may_accept_ && listener_ && accepted < kAcceptsATurn; ++accepted) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    UniqueFd socket{::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_NONBLOCK | SOCK_CLOEXEC)};
    if (!socket) {
      may_accept_ = errno == EINTR || errno == ECONNABORTED;
      continue;
    }
    if (!is_refused(socket.get(), to_text(from))) begin_session(std::move(socket), to_text(from));
  }
}

/// A program that connects again and again does not fill the log.
bool Server::is_refused(int connection, const std::string& peer) {
  const Status allowed = options_.may_connect ? options_.may_connect(connection) : Status{};
  if (allowed.ok()) return false;
  if (allowed.code() == StatusCode::Unavailable) return true;
  ++refused_;
  last_refusal_ = allowed.message();
  if (sessions_ == 0) last_end_ = "a connection was refused: " + std::string{allowed.message()};
  const Instant now = scheduler_.now();
  if (now < refusals_silent_until_) return true;
  refusals_silent_until_ = now + kRefusalsSilent;
  report({.kind = Event::Kind::Refused, .peer = peer, .why = std::string{allowed.message()}});
  return true;
}

void Server::connected(UniqueFd socket, std::string peer) {
  begin_session(std::move(socket), std::move(peer));
  wake();
}

unsigned Server::replaced() const { return replaced_ != 0 && scheduler_.now() - replaced_at_ <= kReplacedApart ? replaced_ : 0; }

void Server::begin_session(UniqueFd socket, std::string peer) {
  if (session_) {
    replaced_ = replaced() + 1;
    replaced_at_ = scheduler_.now();
    end_session(Event::Kind::Replaced, "replaced by " + peer);
  }
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kSessionBuffer, sizeof kSessionBuffer);
  if (Status watched = scheduler_.reactor().watch(socket.get(), Interest::Read, *this); !watched.ok()) {
    last_end_ = watched.to_string();
    return;
  }
  session_ = std::move(socket);
  peer_ = std::move(peer);
  since_ = last_check_ = scheduler_.now();
  quiet_for_ = unnamed_for_ = {};
  stale_before_ = 0;
  messages_ = 0;
  ++sessions_;
  reader_.clear();
  has_frames_ = false;
  may_read_ = true;
  book_.begin_session();
  answers_.clear();
  resync_ = Resync::Receiving;
  stale_at_sweep_ = 0;
  report({.kind = Event::Kind::Connected, .peer = peer_});
}

void Server::end_session(Event::Kind kind, std::string why) {
  scheduler_.reactor().unwatch(session_.get());
  session_.reset();
  book_.stop_sweep();
  resync_ = Resync::NoSession;
  may_read_ = has_frames_ = false;
  malformed_ += kind == Event::Kind::Malformed ? 1 : 0;
  if (messages_ > 0 || last_end_.empty()) last_end_ = why;  // A program that says nothing is no zebra.
  report({.kind = kind, .peer = std::exchange(peer_, {}), .why = std::move(why), .messages = messages_});
}

// --- reading

Result<Backlog> Server::collect() {
  may_accept_ = static_cast<bool>(listener_);  // Otherwise no accept() ends it.
  may_read_ = static_cast<bool>(session_);
  return Backlog::More;
}

/// Reads once. False: nothing has arrived.
bool Server::read_some() {
  const std::span<std::byte> room = reader_.room();
  const ssize_t length = ::recv(session_.get(), room.data(), room.size(), 0);
  if (length > 0) {
    reader_.add(static_cast<std::size_t>(length));
    bytes_ += static_cast<std::uint64_t>(length);
    has_frames_ = true;
    quiet_for_ = {};
    book_.set_now(scheduler_.now());
    return true;
  }
  if (length < 0 && errno == EINTR) return true;
  may_read_ = false;
  if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  const std::size_t partial = reader_.partial();
  std::string why = length == 0 ? "zebra closed the connection" : status_from_errno(errno, "reading").to_string();
  if (length == 0 && partial != 0) why += " within a frame";
  end_session(Event::Kind::Closed, std::move(why));
  return false;
}

void Server::take(const netlink::Message& message) {
  ++messages_;
  decode(message, options_.weights, decoded_);
  switch (decoded_.kind) {
    case Decoded::Kind::Route:
      ++(decoded_.route.gone ? routes_deleted_ : routes_set_);
      book_.apply(decoded_.route);
      return;
    case Decoded::Kind::Nexthop:
      ++(decoded_.nexthop.gone ? nexthops_deleted_ : nexthops_set_);
      book_.apply(decoded_.nexthop);
      return;
    case Decoded::Kind::Skipped: book_.skip(decoded_.skip); return;
    case Decoded::Kind::Malformed: return;
  }
}

Status Server::take(const Frame& frame) {
  ++frames_;
  if (frame.type != kNetlinkFrame) {
    book_.skip(Skip::FrameType);
    return {};
  }
  netlink::MessageReader messages{frame.content};
  for (netlink::Message message; messages.next(message);) {
    take(message);
    if (decoded_.kind == Decoded::Kind::Malformed) {
      return {StatusCode::InvalidArgument, "a message of type " + std::to_string(message.header.nlmsg_type) + " is malformed"};
    }
  }
  if (messages.is_malformed()) return {StatusCode::InvalidArgument, "the length of a message goes beyond its frame"};
  return {};
}

/// A frame is taken whole, so a deletion and the route that replaces it become one change.
std::uint32_t Server::take_frames(std::uint32_t most) {
  std::uint32_t frames = 0;
  while (frames < most && has_frames_) {
    Frame frame;
    const Result<bool> found = reader_.next(frame);
    Status status = found ? Status{} : found.error();
    if (found && !*found) {
      has_frames_ = false;
      break;
    }
    if (status.ok()) status = take(frame);
    if (!status.ok()) {
      end_session(Event::Kind::Malformed, std::string{status.message()});
      break;
    }
    ++frames;
  }
  return frames;
}

// --- turns

/// How many more rows may be under way.
std::size_t Server::room() const {
  if (!options_.under_way) return SIZE_MAX;
  return limits::kFpmUnderWay - std::min(limits::kFpmUnderWay, options_.under_way());
}

void Server::write(std::uint32_t most) {
  const Instant now = scheduler_.now();
  if (store_refuses_ && now < retry_at_) return;
  book_.set_now(now);
  const RouteBook::Written written = book_.write(std::min<std::size_t>(most, room()));
  store_refuses_ = !written.refused.ok();
  if (store_refuses_) retry_at_ = now + kLook;
  has_room_ = room() > 0;
  if (!has_room_ && book_.has_unwritten()) arm_timer(kRoomWait);
}

void Server::arm_timer(Duration wait) {
  const Instant due = scheduler_.now() + wait;
  if (room_timer_.is_armed() && timer_due_ <= due) return;
  timer_due_ = due;
  room_timer_.arm_at(due);
}

/// Tells zebra what the data plane has. While zebra does not read, nothing more is taken from the book.
void Server::answer(std::uint32_t most) {
  if (!options_.is_programmed || !session_) return;
  if (answers_.empty()) {
    programmed_.clear();
    book_.take_programmed(most, options_.is_programmed, programmed_);
    for (const Programmed& route : programmed_) {
      const std::uint32_t vrf = route.vrf.empty() || !options_.vrf_id ? 0 : options_.vrf_id(route.vrf);
      if (vrf == 0 && !route.vrf.empty()) continue;
      append_answer(answers_, route, vrf);
      ++answered_;
    }
  }
  send_answers();
  if (book_.has_unanswered() || !answers_.empty()) arm_timer(kAnswerWait);
}

void Server::send_answers() {
  while (!answers_.empty()) {
    const ssize_t sent = ::send(session_.get(), answers_.data(), answers_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) answers_.clear();  // Reading reports the end of the session.
    if (sent <= 0) return;
    answers_.erase(0, static_cast<std::size_t>(sent));
  }
}

Turn Server::run(const Budget& budget) {
  if (may_accept_) accept_all();
  std::uint32_t frames = 0;
  while (frames < budget.items && session_) {
    if (!has_frames_ && (!may_read_ || !read_some())) break;
    frames += take_frames(budget.items - frames);
    if (time_is_up(budget)) break;
  }
  // zebra sends faster than rows are written. What has arrived is read first, so that a change which goes first is known early.
  const bool may_read_more = session_ && (has_frames_ || may_read_);
  write(may_read_more ? std::max(budget.items / 4, 1U) : 2 * budget.items);
  answer(budget.items);
  if (resync_ == Resync::Sweeping && !book_.is_sweeping() && !book_.has_unwritten()) finish_resync();
  const bool reads = session_ && (has_frames_ || may_read_);
  const bool writes = !store_refuses_ && has_room_ && (book_.has_unwritten() || book_.is_sweeping());
  return {.items = std::max(frames, 1U), .backlog = reads || writes || may_accept_ ? Backlog::More : Backlog::Empty};
}

/// True if routes are to be removed now, or the resync is complete.
bool Server::may_sweep(const BookFigures& figures) {
  const bool all = scheduler_.now() - since_ >= options_.silence;
  const std::size_t due = all ? figures.stale : figures.stale - figures.silent;
  if (due == 0 && figures.stale > 0) {
    resync_ = Resync::Silent;
    if (options_.none_stale) options_.none_stale();
    return false;
  }
  if (due > 0 && options_.may_delete && !options_.may_delete(due, figures.routes)) {
    resync_ = Resync::Held;
    return false;
  }
  stale_at_sweep_ += due;
  book_.sweep(all);
  return true;
}

/// True if the resend has ended. A resend without a message is none: a stranger that connects removes nothing. A look that is
/// late adds at most kLook, because what arrived while this process was stopped or busy is not read yet.
bool Server::is_quiet(Instant now) {
  const Duration passed = std::min(now - std::exchange(last_check_, now), kLook);
  quiet_for_ += passed;
  unnamed_for_ += passed;
  if (const std::size_t stale = book_.stale(); std::exchange(stale_before_, stale) != stale) unnamed_for_ = {};
  const bool is_over = quiet_for_ >= options_.quiet || unnamed_for_ >= kUnnamed * options_.quiet;
  if (!session_ || messages_ == 0 || !is_over || reader_.partial() > 0 || book_.has_unwritten()) return false;
  int unread = 0;
  return ::ioctl(session_.get(), FIONREAD, &unread) != 0 || unread == 0;
}

void Server::check() {
  if (store_refuses_) wake();
  check_rows();
  const bool is_complete = resync_ == Resync::Done || resync_ == Resync::Silent;
  if (is_complete && book_.wants_resend() && scheduler_.now() - since_ >= kResendPause) {
    return end_session(Event::Kind::Closed, "zebra is to send again what there was no room for");
  }
  if (is_complete && scheduler_.now() >= next_vrf_check_) {
    next_vrf_check_ = scheduler_.now() + kVrfCheck;
    if (book_.vrfs_have_changed()) {
      return end_session(Event::Kind::Closed, "zebra is to send its routes again, because a table has another VRF now");
    }
  }
  if (!is_quiet(scheduler_.now()) || resync_ == Resync::Sweeping || resync_ == Resync::Done) return;
  if (!may_sweep(book_.figures())) return;
  resync_ = Resync::Sweeping;
  wake();
}

void Server::finish_resync() {
  if (book_.figures().stale > 0) {
    resync_ = Resync::Silent;
    return;
  }
  resync_ = Resync::Done;
  compare_soon();
  ++resyncs_;
  if (options_.none_stale) options_.none_stale();
  report({.kind = Event::Kind::Resynced, .peer = peer_, .why = {}, .messages = messages_, .removed = std::exchange(stale_at_sweep_, 0)});
}

ServerFigures Server::figures() const {
  return {.endpoint = endpoint_,
          .peer = peer_,
          .since = since_,
          .resync = resync_,
          .sessions = sessions_,
          .replaced = replaced(),
          .resyncs = resyncs_,
          .malformed = malformed_,
          .refused = refused_,
          .last_refusal = last_refusal_,
          .last_end = last_end_,
          .bytes = bytes_,
          .frames = frames_,
          .routes_set = routes_set_,
          .routes_deleted = routes_deleted_,
          .nexthops_set = nexthops_set_,
          .nexthops_deleted = nexthops_deleted_,
          .answers = answered_,
          .comparisons = comparisons_,
          .compares = can_compare_ && (is_reading_ || scheduler_.now() >= next_comparison_),
          .is_late = resync_ == Resync::Receiving && scheduler_.now() - since_ >= options_.silence,
          .messages = messages_,
          .partial = reader_.partial(),
          .refuses = refuses_,
          .book = book_.figures()};
}

}  // namespace rondo::fpm
