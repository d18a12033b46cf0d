#include "rondo/jobs/async_run.h"

#include <algorithm>
#include <utility>

#include "jobs/async_state.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

void AsyncRun::State::end(Status result, std::string of_note) {
  if (!on_end) return;
  status = std::move(result);
  note = std::move(of_note);
  stop = {};
  std::exchange(on_end, {})(*this);
}

void AsyncRun::State::put_back() {
  if (!on_end) return;
  is_put_back = true;
  stop = {};
  std::exchange(on_end, {})(*this);
}

void AsyncRun::State::request_stop() {
  is_stop_requested = true;
  if (const auto call = std::exchange(stop, {})) call();
}

std::int64_t AsyncRun::run() const noexcept { return state_->run; }
const Job& AsyncRun::job() const noexcept { return *state_->job; }
WallTime AsyncRun::scheduled() const noexcept { return state_->scheduled; }
std::uint32_t AsyncRun::attempt() const noexcept { return state_->number; }

void AsyncRun::progress(unsigned percent, std::string_view text) const {
  if (is_open()) state_->progress = {std::min(percent, 100U), std::string{text.substr(0, limits::kRunNote)}};
}

void AsyncRun::placed_at(std::string_view place) const { state_->place = place.substr(0, limits::kRunNote); }
void AsyncRun::began_at(WallTime begun) const { state_->begun = begun; }

void AsyncRun::on_stop(std::function<void()> stop) const {
  if (!is_open()) return;
  state_->stop = std::move(stop);
  if (state_->is_stop_requested) state_->request_stop();
}

bool AsyncRun::is_stop_requested() const noexcept { return state_->is_stop_requested; }
void AsyncRun::end(Status status, std::string note) const { state_->end(std::move(status), std::move(note)); }
void AsyncRun::put_back() const { state_->put_back(); }
void AsyncRun::leave() const noexcept { state_->on_end = nullptr; }
bool AsyncRun::is_open() const noexcept { return state_->on_end != nullptr; }

}  // namespace rondo::jobs
