// parts.h: the limits of the text arguments of all commands for jobs.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/commands/parts.h"
#include "rondo/admin/limits.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

/// 0: the limit of a request is the only one. check_sizes() checks the jobs of a definition.
std::size_t limit_of(std::string_view argument) {
  if (argument == "definition" || argument == "definitions") return 0;
  if (argument == "name" || argument == "after") return limits::kJobName;
  if (argument == "parameters") return limits::kJobParameters;
  return argument == "search" ? limits::kPatternBytes : limits::kJobText;
}

Status check_size(const std::string& name, std::size_t size, std::size_t limit) {
  if (size <= limit) return {};
  return {StatusCode::InvalidArgument,
          name + " has " + std::to_string(size) + " bytes, and at most " + std::to_string(limit) + " are possible"};
}

}  // namespace

CommandHandler within_limits(const CommandSpec& spec, CommandHandler handler) {
  std::vector<std::pair<std::string, std::size_t>> limited;
  for (const ArgumentSpec& argument : spec.arguments) {
    const std::size_t limit = argument.kind == ArgumentKind::Text ? limit_of(argument.name) : 0;
    if (limit > 0) limited.emplace_back(argument.name, limit);
  }
  return [limited = std::move(limited), handler = std::move(handler)](const Arguments& arguments, Reply reply) {
    for (const auto& [name, limit] : limited) {
      if (Status wrong = check_size(name, arguments.text(name).size(), limit); !wrong.ok()) return reply.fail(wrong);
    }
    handler(arguments, std::move(reply));
  };
}

Status check_sizes(const std::vector<JobEdit>& edits) {
  for (const JobEdit& edit : edits) {
    if (Status wrong = check_size("name", edit.job.name.size(), limits::kJobName); !wrong.ok()) return wrong;
    if (Status wrong = check_contents(edit.job); !wrong.ok()) return wrong.with_context("job '" + edit.job.name + "'");
  }
  return {};
}

}  // namespace rondo::jobs
