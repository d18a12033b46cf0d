#include "rondo/base/status.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>

namespace rondo {

std::string_view to_string(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::Ok: return "ok";
    case StatusCode::InvalidArgument: return "invalid-argument";
    case StatusCode::NotFound: return "not-found";
    case StatusCode::AlreadyExists: return "already-exists";
    case StatusCode::FailedPrecondition: return "failed-precondition";
    case StatusCode::ResourceExhausted: return "resource-exhausted";
    case StatusCode::Unavailable: return "unavailable";
    case StatusCode::DeadlineExceeded: return "deadline-exceeded";
    case StatusCode::PermissionDenied: return "permission-denied";
    case StatusCode::Unimplemented: return "unimplemented";
    case StatusCode::DataLoss: return "data-loss";
    case StatusCode::Cancelled: return "cancelled";
    case StatusCode::Internal: return "internal";
  }
  return "unknown";
}

struct Status::Error {
  StatusCode code;
  int origin_errno;
  std::string message;
};

Status::Status(StatusCode code, std::string message, int origin_errno)
    : error_(code == StatusCode::Ok ? nullptr : new Error{code, origin_errno, std::move(message)}) {}

Status::Status(const Status& other) : error_(copy(other)) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) *this = Status{other};
  return *this;
}

StatusCode Status::code() const noexcept { return error_ != nullptr ? error_->code : StatusCode::Ok; }
int Status::origin_errno() const noexcept { return error_ != nullptr ? error_->origin_errno : 0; }
std::string_view Status::message() const noexcept { return error_ != nullptr ? std::string_view{error_->message} : std::string_view{}; }

Status Status::out_of_memory() noexcept {
  Status status;
  status.error_ = no_memory();
  return status;
}

/// One object for all, never destroyed; its text is short enough to be stored in the string itself.
Status::Error* Status::no_memory() noexcept {
  alignas(Error) static std::byte place[sizeof(Error)];
  static Error* const error = new (place) Error{StatusCode::ResourceExhausted, 0, "out of memory"};
  return error;
}

Status::Error* Status::copy(const Status& other) {
  if (other.error_ == nullptr || other.error_ == no_memory()) return other.error_;
  return new Error(*other.error_);
}

void Status::release(Error* error) noexcept {
  if (error != no_memory()) delete error;
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return {};
  std::string message{context};
  message.append(": ").append(error_->message);
  return Status{error_->code, std::move(message), error_->origin_errno};
}

std::string Status::to_string() const {
  std::string text{rondo::to_string(code())};
  if (!ok()) text.append(": ").append(error_->message);
  return text;
}

namespace {
StatusCode code_from_errno(int error_number) noexcept {
  switch (error_number) {
    case 0: return StatusCode::Ok;
    case EINVAL:
    case EMSGSIZE:
    case ENAMETOOLONG:
    case EDOM:
    case ERANGE: return StatusCode::InvalidArgument;
    case ENOENT:
    case ESRCH:
    case ENODEV:
    case ENXIO: return StatusCode::NotFound;
    case EEXIST:
    case EADDRINUSE: return StatusCode::AlreadyExists;
    case ENETDOWN:
    case ENETUNREACH:
    case EBUSY:
    case ENOTEMPTY: return StatusCode::FailedPrecondition;
    case ENOBUFS:
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case EDQUOT: return StatusCode::ResourceExhausted;
    case EAGAIN:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
    case EINTR:
    case ENOTCONN: return StatusCode::Unavailable;
    case ETIMEDOUT: return StatusCode::DeadlineExceeded;
    case EPERM:
    case EACCES:
    case EROFS: return StatusCode::PermissionDenied;
    case EOPNOTSUPP:
    case ENOSYS:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT: return StatusCode::Unimplemented;
    case EIO: return StatusCode::DataLoss;
    case ECANCELED: return StatusCode::Cancelled;
    default: return StatusCode::Internal;
  }
}
}  // namespace

Status status_from_errno(int error_number, std::string_view what) {
  if (error_number == 0) return {};
  std::string message{what};
  char buffer[128];
  message.append(": ").append(strerror_r(error_number, buffer, sizeof buffer));
  return Status{code_from_errno(error_number), std::move(message), error_number};
}

}  // namespace rondo
