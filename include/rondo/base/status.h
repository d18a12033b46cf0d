// Status: the result of an operation that can fail for outside reasons (a bad field, a lost peer, an error of the kernel). Faults of our
// own code use RONDO_ASSERT. An ok Status is one null pointer: returning or storing it costs nothing.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace rondo {

/// Why an operation failed, in terms shared by all parts of Rondo. The admin protocol and the exit codes of `rondo` use the same list.
enum class StatusCode : unsigned char {
  Ok,
  InvalidArgument,     // The input is wrong in any state: a bad field, a malformed frame.
  NotFound,            // The named thing does not exist.
  AlreadyExists,       // The named thing already exists.
  FailedPrecondition,  // Valid input in the wrong state; waiting for a fact may solve it.
  ResourceExhausted,   // A limit of ours or of the peer is reached.
  Unavailable,         // A peer is not reachable; a later retry may succeed.
  DeadlineExceeded,    // No answer in time; it is unknown whether the operation happened.
  PermissionDenied,    // The peer or the kernel denies permission.
  Unimplemented,       // The peer or the kernel does not support it.
  DataLoss,            // Data was lost or is corrupt; the message says what.
  Cancelled,           // Abandoned because its owner was destroyed or stopped.
  Internal,            // A fault of our own code that was caught before it did harm.
};

/// The name of 'code' in lower case with dashes, such as "invalid-argument". Static storage.
std::string_view to_string(StatusCode code) noexcept;

/// Ok, or a code with a message for people and the originating errno (0 when there is none). Copying an error copies its message; moving is
/// cheap. Not thread-safe, like any value.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code, std::string message, int origin_errno = 0);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    Status moved{std::move(other)};
    std::swap(error_, moved.error_);
    return *this;
  }
  ~Status() {
    if (error_ != nullptr) release(error_);
  }

  bool ok() const noexcept { return error_ == nullptr; }
  StatusCode code() const noexcept;
  /// The errno of the kernel call behind this error, or 0.
  int origin_errno() const noexcept;
  /// Empty when ok. Valid as long as this Status is neither changed nor destroyed.
  std::string_view message() const noexcept;

  /// The same error with "context: " before its message; ok stays ok. Callers use it to add what failed and where.
  Status with_context(std::string_view context) const;

  /// ResourceExhausted, "out of memory"; allocates nothing.
  static Status out_of_memory() noexcept;

  /// "ok", or "code: message".
  std::string to_string() const;

 private:
  struct Error;
  static Error* no_memory() noexcept;
  static Error* copy(const Status& other);
  static void release(Error* error) noexcept;
  Error* error_ = nullptr;
};

/// The Status of a failed system call: 'what' names the call and its object; the code follows from the errno.
Status status_from_errno(int error_number, std::string_view what);

}  // namespace rondo
