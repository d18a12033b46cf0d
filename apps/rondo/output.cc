#include "output.h"

#include <cstdio>

namespace rondo::cli {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int finish_output(int code) { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 ? code : kExitFailed; }

}  // namespace rondo::cli
