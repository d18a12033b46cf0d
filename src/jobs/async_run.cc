#include "rondo/jobs/async_run.h"

#include <algorithm>
#include <utility>

#include "base/thrown.h"
#include "jobs/async_runs.h"
#include "orch/runtime_impl.h"
#include "rondo/base/assert.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

constexpr Duration kClockBehind = 24h;

}  // namespace

AsyncRun::State::~State() {
  expect_here("the end of the last copy of an AsyncRun");
  end({StatusCode::Unavailable, "the handler went away without the end of the run"}, {});
}

void AsyncRun::State::expect_here(std::string_view call) const {
  RONDO_EXPECT(owner == nullptr || core->runtime.scheduler().is_here(), from_elsewhere(std::string{call}));
}

void AsyncRun::State::end(Status result, std::string of_note) {
  if (owner == nullptr) return;
  status = std::move(result);
  note = std::move(of_note);
  stop = {};
  std::exchange(owner, nullptr)->ended(*this);
}

void AsyncRun::State::put_back() {
  if (owner == nullptr) return;
  is_put_back = true;
  stop = {};
  std::exchange(owner, nullptr)->ended(*this);
}

void AsyncRun::State::leave() {
  AsyncRuns* const of = std::exchange(owner, nullptr);
  if (of == nullptr) return;
  stop = {};
  of->left(*this);
}

void AsyncRun::State::request_stop() {
  is_stop_requested = true;
  const auto call = std::exchange(stop, {});
  if (!call || std::exchange(was_stop_called, true)) return;
  try {
    call();
  } catch (...) {
    const Status thrown = thrown_by("the function of AsyncRun::on_stop() for run " + std::to_string(run), std::current_exception());
    trouble = thrown.message().substr(0, limits::kRunNote);
    core->report(Change::event("stop", job->name + "#" + std::to_string(run), {}), thrown);
  }
}

void AsyncRun::State::change_begin(std::optional<std::string> of_begin) {
  if (owner == nullptr) return;
  waits = std::move(of_begin);
  owner->begin_changed(*this);
}

std::int64_t AsyncRun::run() const noexcept { return state_->run; }
const Job& AsyncRun::job() const noexcept { return *state_->job; }
WallTime AsyncRun::scheduled() const noexcept { return state_->scheduled; }
std::uint32_t AsyncRun::attempt() const noexcept { return state_->number; }

void AsyncRun::progress(unsigned percent, std::string_view text) const {
  state_->expect_here("AsyncRun::progress()");
  if (is_open()) state_->progress = {std::min(percent, 100U), std::string{text.substr(0, limits::kRunNote)}};
}

void AsyncRun::placed_at(std::string_view place) const {
  state_->expect_here("AsyncRun::placed_at()");
  state_->place = place.substr(0, limits::kRunNote);
}

void AsyncRun::begins_later(std::string_view waits) const {
  state_->expect_here("AsyncRun::begins_later()");
  state_->change_begin(std::string{waits.substr(0, limits::kRunNote)});
}

void AsyncRun::began_at(WallTime begun) const {
  state_->expect_here("AsyncRun::began_at()");
  if (!is_open()) return;
  const WallTime now = state_->core->wall_now();
  const WallTime scheduled = std::min(state_->scheduled, now);
  // A clock that is a little behind is believed; of a time long ago the retention would delete the row.
  state_->begun = begun < scheduled + -kClockBehind ? scheduled : std::min(begun, now);
  if (state_->waits) state_->change_begin(std::nullopt);
}

void AsyncRun::ended_at(WallTime ended) const {
  state_->expect_here("AsyncRun::ended_at()");
  if (is_open()) state_->ended = ended;
}

void AsyncRun::in_trouble(std::string_view trouble) const {
  state_->expect_here("AsyncRun::in_trouble()");
  state_->trouble = trouble.substr(0, limits::kRunNote);
}

void AsyncRun::on_stop(std::function<void()> stop) const {
  state_->expect_here("AsyncRun::on_stop()");
  if (!is_open()) return;
  state_->stop = std::move(stop);
  if (!state_->is_stop_requested) return;
  const std::shared_ptr<State> state = state_;  // The function may destroy this AsyncRun.
  state->request_stop();
}

bool AsyncRun::is_stop_requested() const noexcept { return state_->is_stop_requested; }
void AsyncRun::end(Status status, std::string note) const {
  state_->expect_here("AsyncRun::end()");
  state_->end(std::move(status), std::move(note));
}
void AsyncRun::put_back() const {
  state_->expect_here("AsyncRun::put_back()");
  state_->put_back();
}
void AsyncRun::leave() const noexcept {
  state_->expect_here("AsyncRun::leave()");
  state_->leave();
}
bool AsyncRun::is_open() const noexcept { return state_->owner != nullptr; }

}  // namespace rondo::jobs
