// What the commands write to standard output. A failure (a full disk, a closed pipe) is told at the end.
#pragma once

#include <string>

#include "exit_code.h"
#include "options.h"

namespace rondo::cli {

void print(const std::string& text);
/// Writes what is left of it. 'code', or that of a failure if standard output took not all.
int finish_output(int code = kExitDone);
/// The end of the program, whose code was to be 'code': says on standard error why standard output took not all. That its reader went away
/// is said to nobody, and the command has decided what it means.
int end_output(const Options& options, int code);
/// Why standard output took not all so far, or ok.
Status output_trouble();

}  // namespace rondo::cli
