// What the commands write to standard output. A failure (a full disk, a closed pipe) is told at the end.
#pragma once

#include <string>
#include <string_view>

#include "exit_code.h"
#include "options.h"

namespace rondo::cli {

inline constexpr std::string_view kBold = "\x1b[1m";
inline constexpr std::string_view kDim = "\x1b[2m";
inline constexpr std::string_view kPlain = "\x1b[0m";

/// Every text of rondo for people or machines leaves by print() or print_error(), which write what is unsafe to show (rondo/base/text.h) as
/// \xHH. Line feeds and tabs stay, and the colors below.
void print(std::string_view text);
void print_error(std::string_view text);
/// A file's content, byte for byte.
void print_bytes(std::string_view bytes);
/// Writes what is left of it. 'code', or that of a failure if standard output took not all.
int finish_output(int code = kExitDone);
/// The end of the program, whose code was to be 'code': says on standard error why standard output took not all. That its reader went away
/// is said to nobody, and the command has decided what it means.
int end_output(const Options& options, int code);
/// Why standard output took not all so far, or ok.
Status output_trouble();

}  // namespace rondo::cli
