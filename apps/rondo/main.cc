// rondo: the command line of rondod. See docs/guide/command-line.md.
#include <cstdio>

#include "actions.h"
#include "options.h"

int main(int argc, char** argv) {
  const rondo::cli::Parsed parsed = rondo::cli::parse_command_line(argc, argv);
  if (!parsed.finished) return rondo::cli::run(parsed.options);
  std::fputs(parsed.text.c_str(), parsed.exit_code == 0 ? stdout : stderr);
  return parsed.exit_code;
}
