// NetworkNamespace: a network namespace by its file, and functions run inside it. A socket belongs to the namespace in which it was
// created, so only its creation must run inside. A short-lived thread enters the namespace, and the process's other threads stay where
// they are. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rondo/base/result.h"

namespace rondo::netlink {

class NetworkNamespace {
 public:
  /// 'path' is a file such as /run/netns/x; empty: the namespace of the calling thread. NotFound and PermissionDenied name the path.
  static Result<NetworkNamespace> open(const std::string& path);

  /// Calls 'work' inside and waits for it; on the calling thread if that is inside already. PermissionDenied without CAP_SYS_ADMIN.
  Status inside(const std::function<Status()>& work) const;

  /// FailedPrecondition if the file has gone, or is another namespace now. This object keeps the namespace that was opened.
  Status check_name() const;

  const std::string& path() const noexcept { return path_; }

 private:
  NetworkNamespace(std::string path, std::shared_ptr<const int> descriptor) : path_(std::move(path)), descriptor_(std::move(descriptor)) {}
  std::string path_;
  std::shared_ptr<const int> descriptor_;  // Null for the caller's own namespace; keeps the namespace alive if its file is removed.
};

/// Writes 'value' to a file under /proc/sys; for files in net/ call it within inside().
Status write_sysctl(const std::string& path, const std::string& value);

}  // namespace rondo::netlink
