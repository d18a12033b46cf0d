// rondo: the command line of rondod. See docs/guide/command-line.md.
#include "arguments/options.h"
#include "base/standard_files.h"
#include "commands/actions.h"
#include "output/print.h"

int main(int argc, char** argv) {
  using namespace rondo::cli;
  if (!rondo::keep_standard_files()) return kExitFailed;
  const Parsed parsed = parse_command_line(argc, argv);
  if (!parsed.finished) return end_output(parsed.options, run(parsed.options));
  if (parsed.exit_code == kExitDone) {
    print(parsed.text);
  } else {
    print_error(parsed.text);
  }
  return end_output(parsed.options, finish_output(parsed.exit_code));
}
