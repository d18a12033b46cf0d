// AdminNotices: limits how often each kind of trouble on the admin socket is reported. The first one is reported immediately. After that
// each kind is reported once in limits::kAdminNoticePeriod with its count, so that ten thousand troubles do not fill the log.
#pragma once

#include <array>
#include <functional>
#include <utility>

#include "admin/server.h"
#include "rondo/base/time.h"

namespace rondo {

class AdminNotices {
 public:
  explicit AdminNotices(std::function<void(const AdminNotice&)> report) : report_(std::move(report)) {}

  void note(AdminNotice::Kind kind, const Caller& caller, const Status& why, Instant now);
  /// Reports the troubles that were held back for the whole period.
  void check(Instant now);

 private:
  struct Held {
    AdminNotice notice;
    bool is_reported = false;  // A notice was reported at 'reported'.
    Instant reported;
  };
  void report(Held& held, Instant now);

  const std::function<void(const AdminNotice&)> report_;
  std::array<Held, AdminNotice::kKinds> held_;
};

}  // namespace rondo
