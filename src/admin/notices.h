// AdminNotices: how often each kind of trouble on the admin socket is told. The first is told at once, and then each kind once in
// limits::kAdminNoticePeriod with how many there were, so that whoever makes ten thousand of them fills no log.
#pragma once

#include <array>
#include <functional>
#include <utility>

#include "rondo/admin/server.h"
#include "rondo/base/limits.h"
#include "rondo/base/time.h"

namespace rondo {

class AdminNotices {
 public:
  explicit AdminNotices(std::function<void(const AdminNotice&)> tell) : tell_(std::move(tell)) {}

  void note(AdminNotice::Kind kind, const Caller& caller, const Status& why, Instant now);
  /// Tells what has been held back for long enough.
  void look(Instant now);

 private:
  struct Held {
    AdminNotice notice;
    bool is_told = false;  // Since 'told', one has been told.
    Instant told;
  };
  void tell(Held& held, Instant now);

  const std::function<void(const AdminNotice&)> tell_;
  std::array<Held, AdminNotice::kKinds> held_;
};

}  // namespace rondo
