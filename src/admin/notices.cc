// See notices.h.
#include "admin/notices.h"
#include "rondo/admin/limits.h"

namespace rondo {

std::string_view to_string(AdminNotice::Kind kind) noexcept {
  switch (kind) {
    case AdminNotice::Kind::Refused: return "refused, all places are taken";
    case AdminNotice::Kind::Displaced: return "gave way to another";
    case AdminNotice::Kind::Idle: return "idle";
    case AdminNotice::Kind::SlowFrame: return "slow frame";
    case AdminNotice::Kind::StalledWriter: return "stalled writer";
    case AdminNotice::Kind::SlowReader: return "slow reader";
    case AdminNotice::Kind::Memory: return "held memory that others need";
    case AdminNotice::Kind::SocketLost: return "the socket file was removed and cannot be created again";
    case AdminNotice::Kind::SocketMade: return "the socket file was removed and has been created again";
    case AdminNotice::Kind::NotAccepted: return "the system has no descriptor or memory for another connection";
    case AdminNotice::Kind::Denied: return "denied, without the right to call";
  }
  return "unknown";
}

void AdminNotices::note(AdminNotice::Kind kind, const Caller& caller, const Status& why, Instant now) {
  Held& held = held_[static_cast<std::size_t>(kind)];
  held.notice = {.kind = kind, .count = held.notice.count + 1, .newest = caller, .why = why};
  if (!held.is_reported || now - held.reported >= limits::kAdminNoticePeriod) report(held, now);
}

void AdminNotices::check(Instant now) {
  for (Held& held : held_) {
    if (!held.is_reported || now - held.reported < limits::kAdminNoticePeriod) continue;
    if (held.notice.count == 0) {
      held.is_reported = false;
    } else {
      report(held, now);
    }
  }
}

void AdminNotices::report(Held& held, Instant now) {
  held.is_reported = true;
  held.reported = now;
  if (report_) report_(held.notice);
  held.notice.count = 0;
}

}  // namespace rondo
