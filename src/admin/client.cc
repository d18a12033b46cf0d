// Calls over a Wire: one request, its pages, its last frame.
#include "rondo/admin/client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "admin/client_wire.h"
#include "rondo/admin/limits.h"
#include "rondo/base/text.h"

namespace rondo {
namespace {

constexpr std::size_t kReplyBytes = 256 * 1024;

Status nonsense(std::string_view what) { return Status{StatusCode::DataLoss, "the daemon's answer makes no sense: " + std::string{what}}; }

/// Returns the Status in an answer's "error".
Status error_of(const json::object& answer) {
  const json::value* const error = answer.if_contains("error");
  const json::object* const object = error != nullptr ? error->if_object() : nullptr;
  if (object == nullptr) return nonsense("neither ok nor an error");
  const json::value* const code = object->if_contains("code");
  const json::value* const message = object->if_contains("message");
  if (code == nullptr || !code->is_string() || message == nullptr || !message->is_string())
    return nonsense("an error without code or message");
  return Status{code_named(view(code->get_string())), std::string{view(message->get_string())}};
}

/// Escapes the unsafe characters in every text of 'value'. A genuine daemon has done so already, so this changes nothing.
void make_safe(json::value& value) {
  if (json::string* const text = value.if_string()) {
    if (safe_length(view(*text)) != text->size()) *text = visible_text(view(*text));
  } else if (json::array* const list = value.if_array()) {
    for (json::value& part : *list) make_safe(part);
  } else if (json::object* const object = value.if_object()) {
    std::vector<std::string> unsafe;
    for (auto& member : *object) {
      make_safe(member.value());
      if (safe_length(member.key()) != member.key().size()) unsafe.emplace_back(member.key());
    }
    for (const std::string& name : unsafe) {
      json::value held = std::move(object->at(name));
      object->erase(name);
      object->insert_or_assign(visible_text(name), std::move(held));
    }
  }
}

/// Every answer of a daemon is parsed here, so this is the only place that protects the user's terminal from its texts.
Result<AdminAnswer> take_apart(const Frame& frame) {
  json::error_code failed;
  json::value value = json::parse(json::string_view{frame.payload.data(), frame.payload.size()}, failed);
  if (failed) return failure(nonsense(failed.message()));
  make_safe(value);
  json::object* const object = value.if_object();
  if (object == nullptr) return failure(nonsense("not an object"));
  AdminAnswer answer;
  const json::value* const id = object->if_contains("id");
  if (id == nullptr || !id->is_int64()) return failure(nonsense("no integer \"id\""));
  answer.id = id->get_int64();
  if (frame.kind == FrameKind::More) {
    answer.more = true;
    answer.body = std::move(*object);
    return answer;
  }
  if (frame.kind != FrameKind::Json) return failure(nonsense("a frame of another kind"));
  const json::value* const ok = object->if_contains("ok");
  if (ok == nullptr || !ok->is_bool()) return failure(nonsense("no \"ok\""));
  if (!ok->get_bool()) {
    answer.error = error_of(*object);
    return answer;
  }
  json::value* const result = object->if_contains("result");
  if (result == nullptr || !result->is_object()) return failure(nonsense("no result object"));
  answer.body = std::move(result->get_object());
  return answer;
}

}  // namespace

StatusCode code_named(std::string_view name) {
  for (unsigned char code = 1; code <= static_cast<unsigned char>(StatusCode::Internal); ++code) {
    if (name == to_string(static_cast<StatusCode>(code))) return static_cast<StatusCode>(code);
  }
  return StatusCode::Internal;
}

Status AdminClient::Wire::write_some() {
  while (peer_reads && !output.empty()) {
    const std::string_view bytes = output.view();
    const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      output.consume(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return {};
    } else if (errno == EPIPE || errno == ECONNRESET) {
      peer_reads = false;
      output.clear();
    } else if (errno != EINTR) {
      return status_from_errno(errno, "send to the daemon");
    }
  }
  return {};
}

Status AdminClient::Wire::read_some() {
  while (peer_writes) {
    const std::span<char> room = input.prepare(kReplyBytes);
    const ssize_t got = ::recv(fd.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (got > 0) {
      input.commit(static_cast<std::size_t>(got));
      return {};
    }
    if (got == 0 || errno == ECONNRESET) {
      peer_writes = false;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return {};
    } else if (errno != EINTR) {
      return status_from_errno(errno, "receive from the daemon");
    }
  }
  return {};
}

Status AdminClient::Wire::exchange() {
  if (Status written = write_some(); !written.ok()) return written;
  return read_some();
}

Status AdminClient::Wire::wait_and_exchange() {
  if (!peer_writes) return Status{StatusCode::Unavailable, "the daemon closed the connection"};
  pollfd watched{.fd = fd.get(), .events = POLLIN, .revents = 0};
  if (peer_reads && !output.empty()) watched.events |= POLLOUT;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  const int ready = ::poll(&watched, 1, static_cast<int>(std::min<std::int64_t>(milliseconds, 1'000'000'000)));
  if (ready < 0 && errno != EINTR) return status_from_errno(errno, "wait for the daemon");
  if (ready == 0) {
    peer_reads = peer_writes = false;
    return Status{StatusCode::DeadlineExceeded, "the daemon did not answer within " + std::to_string(milliseconds) + " ms"};
  }
  return exchange();
}

Result<std::optional<AdminAnswer>> AdminClient::Wire::next_answer() {
  const Result<std::optional<Frame>> frame = next_frame(input.view());
  if (!frame) return failure(nonsense(frame.error().message()));
  if (!*frame) return std::optional<AdminAnswer>{};
  Result<AdminAnswer> answer = take_apart(**frame);
  answer_bytes += (**frame).bytes;
  input.consume((**frame).bytes);
  if (!answer) return failure(answer.error());
  // An error of the whole connection has the id 0.
  if (answer->id != awaited && (answer->id != 0 || answer->error.ok())) {
    return failure(nonsense("it has the id " + std::to_string(answer->id) + ", and that of the request is " + std::to_string(awaited)));
  }
  return std::optional<AdminAnswer>{std::move(*answer)};
}

Result<AdminAnswer> AdminClient::Wire::await_answer() {
  for (;;) {
    Result<std::optional<AdminAnswer>> answer = next_answer();
    if (!answer) return failure(answer.error());
    if (*answer) return std::move(**answer);
    if (Status waited = wait_and_exchange(); !waited.ok()) return failure(std::move(waited));
  }
}

AdminClient::AdminClient(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {}
AdminClient::~AdminClient() = default;

Result<std::unique_ptr<AdminClient>> AdminClient::connect(const std::string& path, Duration patience) {
  Result<UniqueFd> fd = connect_unix(path);
  struct stat found {};
  if (!fd && fd.error().code() == StatusCode::Unavailable && ::stat(path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode)) {
    return failure(StatusCode::Unavailable,
                   std::string{fd.error().message()} +
                       ": it is no socket; a running daemon makes its socket anew within a second after it is removed");
  }
  if (!fd) return failure(fd.error());
  return std::unique_ptr<AdminClient>(new AdminClient(std::make_unique<Wire>(std::move(*fd), patience)));
}

std::unique_ptr<AdminClient> AdminClient::over(int fd, Duration patience, std::shared_ptr<void> connection) {
  auto wire = std::make_unique<Wire>(UniqueFd{fd}, patience);
  wire->connection = std::move(connection);
  return std::unique_ptr<AdminClient>(new AdminClient(std::move(wire)));
}

Status AdminClient::Wire::check_bytes(std::size_t most) {
  if (answer_bytes <= most) return {};
  peer_reads = peer_writes = false;
  input.clear();
  return Status{StatusCode::ResourceExhausted, "the daemon's answer has more than " + std::to_string(most) + " bytes"};
}

Result<json::object> AdminClient::call(std::string_view command, const json::object& arguments) {
  json::array rows;
  const auto keep = [&rows](const json::value& row) { rows.push_back(row); };
  Result<json::object> result = call(command, arguments, keep, limits::kAdminAnswerBytes);
  if (result && (!rows.empty() || result->contains("rows"))) (*result)["rows"] = std::move(rows);
  return result;
}

Status AdminClient::ask(std::string_view command, const json::object& arguments) {
  json::object request{{"id", ++wire_->last_id}, {"command", command}};
  wire_->awaited = wire_->last_id;
  wire_->answer_bytes = 0;
  for (const auto& argument : arguments) request[argument.key()] = argument.value();
  std::string frame;
  const std::size_t start = begin_frame(frame, FrameKind::Json);
  append_json(frame, request);
  end_frame(frame, start);
  wire_->queue(frame);
  return wire_->write_some();  // Reads nothing: the caller waits until there is something to read.
}

Result<std::optional<json::object>> AdminClient::answer(const RowVisitor& on_row) {
  if (Status moved = wire_->exchange(); !moved.ok()) return failure(std::move(moved));
  for (;;) {
    Result<std::optional<AdminAnswer>> next = wire_->next_answer();
    if (!next) return failure(next.error());
    if (!*next) break;
    AdminAnswer& answer = **next;
    if (!answer.error.ok()) return failure(answer.error);
    if (json::value* const rows = answer.body.if_contains("rows"); rows != nullptr && rows->is_array()) {
      for (const json::value& row : rows->get_array()) on_row(row);
      rows->get_array().clear();
    }
    if (!answer.more) return std::optional{std::move(answer.body)};
  }
  if (!wire_->peer_writes) return failure(StatusCode::Unavailable, "the daemon closed the connection");
  return std::optional<json::object>{};
}

bool AdminClient::is_sending() const noexcept { return wire_->peer_reads && !wire_->output.empty(); }

Result<std::optional<json::object>> AdminClient::answer() {
  if (Status moved = wire_->exchange(); !moved.ok()) return failure(std::move(moved));
  for (;;) {
    Result<std::optional<AdminAnswer>> next = wire_->next_answer();
    if (!next) return failure(next.error());
    if (!*next) break;
    AdminAnswer& answer = **next;
    if (!answer.error.ok()) return failure(answer.error);
    if (Status over = wire_->check_bytes(limits::kAdminAnswerBytes); !over.ok()) return failure(std::move(over));
    json::value* const rows = answer.body.if_contains("rows");
    const bool has_rows = rows != nullptr && rows->is_array();
    if (has_rows) std::ranges::move(rows->get_array(), std::back_inserter(wire_->rows));
    if (answer.more) continue;
    if (has_rows || !wire_->rows.empty()) answer.body["rows"] = std::exchange(wire_->rows, {});
    return std::optional{std::move(answer.body)};
  }
  if (!wire_->peer_writes) return failure(StatusCode::Unavailable, "the daemon closed the connection");
  return std::optional<json::object>{};
}

int AdminClient::fd() const noexcept { return wire_->fd.get(); }

Result<json::object> AdminClient::call(std::string_view command, const json::object& arguments, const RowVisitor& on_row,
                                       std::size_t answer_max) {
  if (Status sent = ask(command, arguments); !sent.ok()) return failure(std::move(sent));
  for (;;) {
    Result<AdminAnswer> answer = wire_->await_answer();
    if (!answer) return failure(answer.error());
    if (!answer->error.ok()) return failure(answer->error);
    if (Status over = wire_->check_bytes(answer_max); !over.ok()) return failure(std::move(over));
    json::value* const rows = answer->body.if_contains("rows");
    if (rows != nullptr && rows->is_array()) {
      for (const json::value& row : rows->get_array()) on_row(row);
      rows->get_array().clear();
    }
    if (!answer->more) return std::move(answer->body);
  }
}

}  // namespace rondo
