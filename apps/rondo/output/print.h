// Writes the commands' text to standard output. A failure (a full disk, a closed pipe) is reported at the end.
#pragma once

#include <string>
#include <string_view>

#include "arguments/options.h"
#include "output/exit_code.h"

namespace rondo::cli {

inline constexpr std::string_view kBold = "\x1b[1m";
inline constexpr std::string_view kDim = "\x1b[2m";
inline constexpr std::string_view kPlain = "\x1b[0m";

/// Every text of rondo, for users or scripts, passes through print() or print_error(). They write unsafe characters (rondo/base/text.h) as
/// \xHH, except line feeds, tabs, and the colors below.
void print(std::string_view text);
void print_error(std::string_view text);
/// Writes a file's content, byte for byte.
void print_bytes(std::string_view bytes);
/// Flushes the output. Returns 'code', or the code of a failure if standard output did not accept everything.
int finish_output(int code = kExitDone);
/// Ends the program's output; its exit code is to be 'code'. Reports on standard error why standard output did not accept everything. If
/// the reader is gone, reports nothing: the command has chosen its exit code.
int end_output(const Options& options, int code);
/// The first failure of standard output, or ok.
Status output_trouble();

}  // namespace rondo::cli
