// NetworkNamespace: a network namespace by its file, and work done inside it. A socket belongs to the namespace it was made in, so only
// making it needs to be inside: a short-lived thread enters, and the process's own threads stay where they are. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rondo/base/result.h"

namespace rondo::netlink {

class NetworkNamespace {
 public:
  /// 'path' as /run/netns/x; empty for the namespace of the calling thread. NotFound or PermissionDenied name the path.
  static Result<NetworkNamespace> open(const std::string& path);

  /// Calls 'work' inside and waits for it; on the calling thread when that is inside already. PermissionDenied without CAP_SYS_ADMIN.
  Status inside(const std::function<Status()>& work) const;

  const std::string& path() const noexcept { return path_; }

 private:
  NetworkNamespace(std::string path, std::shared_ptr<const int> descriptor) : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  std::string path_;
  std::shared_ptr<const int> descriptor_;  // Null for the caller's own; keeps the namespace alive if its file is removed.
};

/// Writes 'value' to a file under /proc/sys; call it inside() for net/ of a namespace.
Status write_sysctl(const std::string& path, const std::string& value);

}  // namespace rondo::netlink
