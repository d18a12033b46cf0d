#include "http/relay.h"

#include <utility>

namespace rondo::http {

Channel::Step Relay::Flow::write(Channel& to) noexcept {
  const Channel::Step step = to.write(std::string_view{bytes}.substr(written));
  written += step.bytes;
  if (written == bytes.size()) {
    std::string{}.swap(bytes);
    written = 0;
  }
  return step;
}

void Relay::begin(std::string head, std::string input) {
  to_client_.bytes = std::move(head);
  if (!convert_) to_other_.bytes = std::move(input);
}

Relay::State Relay::step(Channel& client, std::span<char> buffer) {
  if (reads_other() && other_.may_read()) read_other(buffer);
  if (output_waits() && client.may_write()) {
    const Channel::Step step = to_client_.write(client);
    sent_ += step.bytes;
    if (step.outcome == Channel::Outcome::Failed) return State::Gone;
  }
  if (to_client_.has_ended && !output_waits()) return State::Ended;
  if (reads_client() && client.may_read() && !read_client(client, buffer)) return State::Gone;
  if (!to_other_.is_empty() && other_.may_write()) write_other();
  return client_has_ended_ && to_other_.is_empty() ? State::Gone : State::Open;
}

bool Relay::has_work(const Channel& client) const noexcept {
  if (output_waits() ? client.may_write() : to_client_.has_ended || other_.may_read()) return true;
  return (reads_client() && client.may_read()) || (!to_other_.is_empty() && other_.may_write());
}

void Relay::read_other(std::span<char> buffer) {
  const Channel::Step step = other_.read(buffer);
  if (step.outcome == Channel::Outcome::Ended || step.outcome == Channel::Outcome::Failed) to_client_.has_ended = true;
  if (step.outcome != Channel::Outcome::Moved) return;
  const std::string_view bytes{buffer.data(), step.bytes};
  if (!convert_) {
    to_client_.bytes.assign(bytes);
  } else if (std::optional<std::string> piece = convert_(bytes)) {
    to_client_.bytes = std::move(*piece);
  } else {
    to_client_.has_ended = true;
  }
}

/// False if the client is gone.
bool Relay::read_client(Channel& client, std::span<char> buffer) {
  const Channel::Step step = client.read(buffer);
  if (step.outcome == Channel::Outcome::Failed) return false;
  if (step.outcome == Channel::Outcome::Ended) {
    if (convert_) return false;
    to_other_.has_ended = client_has_ended_ = true;
  }
  if (step.outcome == Channel::Outcome::Moved && !convert_) to_other_.bytes.assign(buffer.data(), step.bytes);
  return true;
}

/// The other side may have ended its input: its output goes to the client all the same.
void Relay::write_other() noexcept {
  if (to_other_.write(other_).outcome != Channel::Outcome::Failed) return;
  to_other_ = {.has_ended = true};
}

}  // namespace rondo::http
