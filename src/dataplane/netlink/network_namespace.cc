// network_namespace.cc: setns(2) on a separate thread. See the header.
#include "dataplane/netlink/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>

namespace rondo::netlink {

Result<NetworkNamespace> NetworkNamespace::open(const std::string& path) {
  if (path.empty()) return NetworkNamespace{{}, nullptr};
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failure(status_from_errno(errno, "open network namespace '" + path + "'"));
  return NetworkNamespace{path, std::shared_ptr<const int>(new int{descriptor}, [](const int* held) {
                            ::close(*held);
                            delete held;
                          })};
}

Status NetworkNamespace::inside(const std::function<Status()>& work) const {
  if (!descriptor_) return work();
  Status result;
  try {
    std::thread visitor([&] {
      if (::setns(*descriptor_, CLONE_NEWNET) != 0) {
        result = status_from_errno(errno, "enter network namespace '" + path_ + "'");
      } else {
        result = work();
      }
    });
    visitor.join();
  } catch (const std::system_error& error) {
    return Status{StatusCode::ResourceExhausted, "no thread to enter network namespace '" + path_ + "': " + error.what()};
  }
  return result;
}

Status NetworkNamespace::check_name() const {
  if (!descriptor_) return {};
  struct stat open {};
  struct stat named {};
  const bool is_there = ::stat(path_.c_str(), &named) == 0;
  if (is_there && ::fstat(*descriptor_, &open) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino) return {};
  return Status{StatusCode::FailedPrecondition,
                "the network namespace '" + path_ + "' was " + (is_there ? "made again" : "removed") +
                    ": this process goes on in the earlier one, which has no name any more, and must be started again"};
}

Status write_sysctl(const std::string& path, const std::string& value) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return status_from_errno(errno, "open " + path);
  const ssize_t written = ::write(file, value.data(), value.size());
  const int error = errno;
  ::close(file);
  return written == static_cast<ssize_t>(value.size()) ? Status{} : status_from_errno(written < 0 ? error : EIO, "write " + path);
}

}  // namespace rondo::netlink
