// AdminClient: the client side of the admin socket, for the command line and for tests. Blocking; one thread at a time. Protocol:
// docs/guide/admin-protocol.md.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo {

class AdminClient {
 public:
  /// Connects to the socket at 'path'. Unavailable when no server answers there, NotFound when the file does not exist. A call that waits
  /// longer than 'patience' for the next byte, in either direction, returns DeadlineExceeded; the connection cannot be used after that.
  static Result<std::unique_ptr<AdminClient>> connect(const std::string& path, Duration patience = 30s);
  /// Uses 'fd', a connected stream socket, which it owns from now on. 'connection' is destroyed after 'fd' was closed.
  static std::unique_ptr<AdminClient> over(int fd, Duration patience, std::shared_ptr<void> connection);
  ~AdminClient();
  AdminClient(const AdminClient&) = delete;
  AdminClient& operator=(const AdminClient&) = delete;

  /// Calls 'command' and returns its result; "rows" has the rows of all pages. An error of the daemon is returned as its Status;
  /// Unavailable when the daemon closes the connection, DataLoss when its answer is malformed or has the id of another request,
  /// ResourceExhausted when the answer has more than limits::kAdminAnswerBytes. The connection cannot be used after the last two.
  Result<boost::json::object> call(std::string_view command, const boost::json::object& arguments);

  /// The same, but each row is passed to 'on_row' when its page arrives, so that an answer of any length takes little memory. The result
  /// has no "rows". ResourceExhausted when it has more than 'answer_max' bytes: a caller that keeps the rows should give a limit.
  using RowVisitor = std::function<void(const boost::json::value& row)>;
  Result<boost::json::object> call(std::string_view command, const boost::json::object& arguments, const RowVisitor& on_row,
                                   std::size_t answer_max = SIZE_MAX);

  /// The same in two steps that never block, for a caller that polls other descriptors, too. Call ask() once, then answer() each time that
  /// fd() is readable, until it returns the result; it returns an empty optional until then. 'patience' does not apply. One request at a
  /// time.
  Status ask(std::string_view command, const boost::json::object& arguments);
  Result<std::optional<boost::json::object>> answer();
  /// The same, but each row is passed to 'on_row' when its page arrives, for an answer that does not end.
  Result<std::optional<boost::json::object>> answer(const RowVisitor& on_row);
  /// True if part of the request is still to be written: poll fd() for writing, too.
  bool is_sending() const noexcept;
  /// Descriptor to poll for reading. Owned by this object.
  int fd() const noexcept;

 private:
  friend class BulkWriter;
  struct Wire;
  explicit AdminClient(std::unique_ptr<Wire> wire);
  std::unique_ptr<Wire> wire_;
};

/// The code of an error in an answer, such as "not-found"; Internal for a name that this program does not know.
StatusCode code_named(std::string_view name);

}  // namespace rondo
