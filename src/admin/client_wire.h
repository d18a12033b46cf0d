// AdminClient::Wire: the client's connected socket. It writes frames (as much as the kernel accepts), reads frames, and waits for either
// with a limit on silence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "admin/byte_buffer.h"
#include "admin/frame.h"
#include "admin/unix_socket.h"
#include "base/json.h"
#include "rondo/admin/client.h"

namespace rondo {

/// A parsed frame of the daemon.
struct AdminAnswer {
  std::int64_t id = 0;
  bool more = false;  // This is a page; the last frame follows later.
  Status error;       // The daemon's error.
  json::object body;  // The result, or the page's object with "rows".
};

struct AdminClient::Wire {
  Wire(UniqueFd socket, Duration longest_silence) : fd(std::move(socket)), patience(longest_silence) {}

  void queue(std::string_view frame) { output.append(frame); }
  /// Writes without waiting.
  Status write_some();
  /// Writes and reads without waiting.
  Status exchange();
  /// Waits until the socket can be written or read, and does so. DeadlineExceeded after 'patience' of silence.
  Status wait_and_exchange();
  /// Returns the next whole answer that has arrived, or nothing. DataLoss if it is not an answer to 'awaited'.
  Result<std::optional<AdminAnswer>> next_answer();
  /// Waits for the next answer.
  Result<AdminAnswer> await_answer();
  /// ResourceExhausted if the frames of the answer so far have more than 'most' bytes; the connection cannot be used after that.
  Status check_bytes(std::size_t most);

  std::shared_ptr<void> connection;  // What serves the other end of 'fd' in this process; null: the daemon does.
  UniqueFd fd;
  const Duration patience;
  ByteBuffer input;
  ByteBuffer output;
  std::int64_t last_id = 0;
  std::int64_t awaited = 0;      // The id of the request that is being answered; 0 for bulk writes.
  std::size_t answer_bytes = 0;  // Bytes of the frames since that request.
  json::array rows;              // Rows of the answer that AdminClient::answer() is waiting for.
  bool peer_reads = true;        // False after the daemon closed its reading end; its last frames may still arrive.
  bool peer_writes = true;       // False after the end of its stream.

 private:
  Status read_some();
};

}  // namespace rondo
