// What a program does first: it makes sure that descriptors 0, 1 and 2 are taken. Where one was closed by who started the program, the next
// socket or file would get its number, and what is printed would go into it.
#pragma once

namespace rondo {

/// Opens /dev/null for each of standard input, output and error that is closed, the wrong way round: reading or writing it fails with
/// EBADF, as it did. False when that was not possible; then the program must not go on. Before anything else is opened.
[[nodiscard]] bool keep_standard_files() noexcept;

}  // namespace rondo
