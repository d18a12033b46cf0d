// The first step of a program: ensures that descriptors 0, 1 and 2 are open. If the parent process closed one, the next socket or file
// would get its number, and printed text would go into it.
#pragma once

namespace rondo {

/// Opens /dev/null for each of standard input, output and error that is closed, in the wrong direction: reading or writing it fails with
/// EBADF, as it did before. Call it before any other file is opened. Returns false if that failed; then the program must not continue.
[[nodiscard]] bool keep_standard_files() noexcept;

}  // namespace rondo
