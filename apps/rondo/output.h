// What the commands write to standard output. A failure (a full disk, a closed pipe) is told at the end.
#pragma once

#include <string>

#include "exit_code.h"

namespace rondo::cli {

void print(const std::string& text);
/// 'code', or that of a failure if standard output took not all.
int finish_output(int code = kExitDone);

}  // namespace rondo::cli
