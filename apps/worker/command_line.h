// The command line of a run: the fixed arguments of a command with the values of a job's parameters. No shell sees them. A value that the
// command's rules do not allow is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/base/trace_context.h"
#include "worker/config.h"

namespace rondo::worker {

/// A run that a server wants.
struct RunOrder {
  std::int64_t run = 0;
  std::uint32_t attempt = 0;
  std::string key = {};  // Of the server: the run of another key is another one, although it has the same number. May be empty.
  std::string command;
  std::string job;
  std::string parameters;
  std::string scheduled;
  std::optional<TraceContext> trace = {};  // The trace of the call that asked for the run.
  Duration timeout{0};
};

/// True if it may be RunOrder::key, which is a part of the names of files: at most limits::kRunKey digits, and letters from a to f.
bool is_run_key(std::string_view key) noexcept;

struct CommandLine {
  std::vector<std::string> arguments;    // The first is the program.
  std::vector<std::string> environment;  // NAME=VALUE.
  std::string input = {};                // What the program reads on its standard input.
};

/// InvalidArgument that names the parameter and the rule.
Result<CommandLine> command_line(const CommandRule& rule, const RunOrder& order);

/// InvalidArgument for a value that the rule of the parameter does not allow.
Status check_value(const std::string& name, const ParameterRule& rule, const std::string& value);

/// True if the worker sets this variable for each run.
bool is_run_variable(std::string_view name);

/// The names in the placeholders of a text; InvalidArgument for an unmatched brace.
Result<std::vector<std::string>> placeholders_of(std::string_view text);

/// Names that stand for the run itself.
bool is_built_in(std::string_view name) noexcept;

}  // namespace rondo::worker
