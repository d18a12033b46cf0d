// WorkerConfig: the content of the file of `rondo worker`: the commands that it carries out, and for whom. packaging/worker.toml explains
// every key. An unknown key or a wrong value is an error that names the file, the line, the section and the key, and the key that was
// probably meant.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bounded_file.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::worker {

/// What a parameter of a command may be.
struct ParameterRule {
  std::optional<std::string> fallback;    // Empty: the job must give it.
  std::vector<std::string> values;        // Empty: any. An empty list in the file is refused.
  std::optional<std::bitset<256>> bytes;  // The bytes that it may have; empty: all but NUL.
  std::size_t bytes_max = 1024;
  bool may_begin_with_dash = false;
};

struct CommandRule {
  std::string name;
  std::string program;                 // An absolute path.
  std::vector<std::string> arguments;  // With placeholders: {NAME}; {{ and }} stand for { and }.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string directory;  // Empty: 'home', or / where that cannot be entered.
  std::string home;       // Of 'user'; empty: none.
  std::string user;       // Empty: that of the worker.
  Duration timeout{0};    // For jobs without one; 0: none.
  Duration grace{10s};    // From SIGTERM to SIGKILL.
  std::size_t log_bytes = std::size_t{1024} * 1024;
  std::uint64_t concurrency = 1;
  bool may_gain_privileges = false;
  bool parameters_as_input = false;  // On its standard input and in RONDO_PARAMETERS, in place of sections for each parameter.
  std::map<std::string, ParameterRule, std::less<>> parameters;
};

struct WorkerConfig {
  std::string file;               // Its name, for errors.
  std::string socket;             // Empty: the default of `rondo`.
  std::vector<std::string> urls;  // In place of 'socket': a server on another host, or several of which one runs the jobs.
  std::string token_file;
  std::string ca_file;
  std::string name;  // Empty: the name of the host.
  std::string state = "/var/lib/rondo-worker";
  std::uint64_t places = 16;
  std::size_t logs_bytes = std::size_t{256} * 1024 * 1024;
  std::uint64_t logs = 1000;
  std::map<std::string, CommandRule, std::less<>> commands;
};

/// True if a server takes this as the name of a command.
bool is_command_name(std::string_view name) noexcept;

Result<WorkerConfig> parse_worker_config(std::string_view text, const std::string& name);
Result<WorkerConfig> read_worker_config(const std::string& path, Pipes pipes = Pipes::Read);

/// The commands that cannot begin at present, each with the reason for people: their program or their directory is missing, or of another
/// kind. They may come later, so that is no error of the file.
std::vector<std::string> unready_commands(const WorkerConfig& config);

}  // namespace rondo::worker
