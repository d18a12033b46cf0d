// Status: the answer of an operation that may fail because of the outside world (a bad field, a lost peer, a kernel's no).
// Faults of our own are RONDO_ASSERT's business. An ok Status is one null pointer: it costs nothing to return or to store.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rondo {

/// Why an operation failed, in the terms every part of Rondo shares. The admin protocol and the exit codes of `rondo` use the same list.
enum class Code : unsigned char {
  Ok,
  InvalidArgument,     // The input is wrong whatever the state: a bad field, a malformed frame.
  NotFound,            // The named thing does not exist.
  AlreadyExists,       // The named thing exists and must not.
  FailedPrecondition,  // Right input at the wrong time; waiting for a fact may cure it.
  ResourceExhausted,   // A limit of ours or of the peer is reached.
  Unavailable,         // A peer is away; trying again later may cure it.
  DeadlineExceeded,    // It took too long; whether it happened is unknown.
  PermissionDenied,    // The peer or the kernel refuses on grounds of rights.
  Unimplemented,       // The peer or the kernel cannot do it, ever.
  DataLoss,            // Something was lost or is corrupt, and this says what.
  Cancelled,           // Given up because its owner went away.
  Internal,            // A fault of ours that was caught before it did harm.
};

/// The name of 'code' in lower case with dashes, such as "invalid-argument". Static storage.
std::string_view to_string(Code code) noexcept;

/// Ok, or a code with a message for people and the errno it came from (0 when there is none).
/// Copying an error copies its message; moving is cheap. Not thread-safe, as any value.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(Code code, std::string message, int origin_errno = 0);
  Status(const Status& other);
  Status& operator=(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const noexcept { return error_ == nullptr; }
  Code code() const noexcept { return error_ ? error_->code : Code::Ok; }
  /// The errno of the kernel call behind this error, or 0.
  int origin_errno() const noexcept { return error_ ? error_->origin_errno : 0; }
  /// Empty when ok. Valid as long as this Status is neither changed nor destroyed.
  std::string_view message() const noexcept { return error_ ? std::string_view{error_->message} : std::string_view{}; }

  /// The same error with "context: " before its message; ok stays ok. Use it to add what and where on the way up.
  Status with_context(std::string_view context) const;

  /// ResourceExhausted, "out of memory"; needs none itself.
  static Status out_of_memory() noexcept;

  /// "ok", or "code: message".
  std::string to_string() const;

 private:
  struct Error {
    Code code;
    int origin_errno;
    std::string message;
  };
  struct Release {
    void operator()(Error* error) const noexcept;
  };
  static Error* no_memory() noexcept;
  static Error* copy(const Status& other);
  std::unique_ptr<Error, Release> error_;
};

/// The Status of a failed system call: 'what' names the call and its object; the code follows from the errno.
Status status_from_errno(int error_number, std::string_view what);

}  // namespace rondo
