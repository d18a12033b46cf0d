// The NoticeSender of a build with libcurl.
#pragma once

#include <memory>

#include "rondod/notify/sender.h"

namespace rondo::daemon {

/// See open_notice_sender().
Result<std::unique_ptr<NoticeSender>> open_http_sender(Runtime& runtime);

}  // namespace rondo::daemon
