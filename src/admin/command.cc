// The registry: finding a command, checking its arguments, calling it, and the two commands that describe the program itself.
#include "rondo/admin/command.h"

#include <algorithm>
#include <exception>
#include <set>

#include "admin/field_count.h"
#include "admin/peer.h"
#include "admin/suggest.h"
#include "base/json.h"
#include "base/thrown.h"
#include "rondo/base/assert.h"
#include "rondo/base/text.h"

namespace rondo {
namespace {

bool is_text_pair(const json::value& value) {
  const json::array* const pair = value.if_array();
  return pair != nullptr && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[1].is_string();
}

bool is_fields(const json::value& value) {
  const json::array* const pairs = value.if_array();
  return pairs != nullptr && std::ranges::all_of(*pairs, is_text_pair);
}

bool is_row(const json::value& value) {
  const json::array* const row = value.if_array();
  if (row == nullptr || row->size() < 3 || !(*row)[0].is_string() || !(*row)[1].is_string()) return false;
  return (*row)[2] == "DEL" ? row->size() == 3 : (*row)[2] == "SET" && row->size() == 4 && is_fields((*row)[3]);
}

bool has_kind(const json::value& value, ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::Text: return value.is_string();
    case ArgumentKind::Integer: return value.is_int64();
    case ArgumentKind::Flag: return value.is_bool();
    case ArgumentKind::Fields: return is_fields(value);
    case ArgumentKind::Rows: return value.is_array() && std::ranges::all_of(value.get_array(), is_row);
  }
  return false;
}

std::string_view expectation(ArgumentKind kind) noexcept {
  switch (kind) {
    case ArgumentKind::Text: return "a string";
    case ArgumentKind::Integer: return "an integer";
    case ArgumentKind::Flag: return "true or false";
    case ArgumentKind::Fields: return "an array of [\"name\",\"value\"] pairs";
    case ArgumentKind::Rows: return "an array of [\"TABLE\",\"key\",\"SET\",fields] and [\"TABLE\",\"key\",\"DEL\"]";
  }
  return "something else";
}

std::vector<std::pair<std::string, std::string>> pairs_of(const json::value& fields) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const json::value& pair : fields.as_array()) {
    const json::array& parts = pair.as_array();
    pairs.emplace_back(unescape_text(view(parts[0].as_string())), unescape_text(view(parts[1].as_string())));
  }
  return pairs;
}

/// InvalidArgument for a row of too many fields in an argument of that kind.
Status check_row_fields(const json::value& value, ArgumentKind kind) {
  if (kind == ArgumentKind::Fields) return check_field_count(value.as_array().size());
  if (kind != ArgumentKind::Rows) return {};
  for (const json::value& row : value.as_array()) {
    const json::array& parts = row.as_array();
    if (parts.size() < 4) continue;
    if (Status counted = check_field_count(parts[3].as_array().size()); !counted.ok()) return counted;
  }
  return {};
}

std::string usage(const CommandSpec& spec) {
  if (spec.arguments.empty()) return "'" + spec.name + "' takes no arguments";
  std::string text = "'" + spec.name + "' takes";
  for (const ArgumentSpec& argument : spec.arguments) {
    text.append(&argument == &spec.arguments.front() ? " " : ", ").append(argument.name);
    if (!argument.required) text.append(" (optional)");
  }
  return text;
}

const ArgumentSpec* find_argument(const CommandSpec& spec, std::string_view name) {
  for (const ArgumentSpec& argument : spec.arguments) {
    if (argument.name == name) return &argument;
  }
  return nullptr;
}

}  // namespace

std::string_view to_string(ArgumentKind kind) noexcept {
  switch (kind) {
    case ArgumentKind::Text: return "text";
    case ArgumentKind::Integer: return "integer";
    case ArgumentKind::Flag: return "flag";
    case ArgumentKind::Fields: return "fields";
    case ArgumentKind::Rows: return "rows";
  }
  return "unknown";
}

bool Arguments::has(std::string_view name) const { return object_->contains(name); }

std::string Arguments::text(std::string_view name, std::string_view absent) const {
  const json::value* const value = object_->if_contains(name);
  if (value == nullptr) return std::string{absent};
  return unescape_text(view(value->as_string()));
}

std::int64_t Arguments::integer(std::string_view name, std::int64_t absent) const {
  const json::value* const value = object_->if_contains(name);
  return value == nullptr ? absent : value->as_int64();
}

bool Arguments::flag(std::string_view name) const {
  const json::value* const value = object_->if_contains(name);
  return value != nullptr && value->as_bool();
}

std::vector<std::pair<std::string, std::string>> Arguments::fields(std::string_view name) const {
  const json::value* const value = object_->if_contains(name);
  return value == nullptr ? std::vector<std::pair<std::string, std::string>>{} : pairs_of(*value);
}

std::vector<RowArgument> Arguments::rows(std::string_view name) const {
  std::vector<RowArgument> rows;
  const json::value* const value = object_->if_contains(name);
  if (value == nullptr) return rows;
  for (const json::value& one : value->as_array()) {
    const json::array& parts = one.as_array();
    RowArgument& row = rows.emplace_back();
    row.table = unescape_text(view(parts[0].as_string()));
    row.key = unescape_text(view(parts[1].as_string()));
    row.is_delete = parts[2] == "DEL";
    if (!row.is_delete) row.fields = pairs_of(parts[3]);
  }
  return rows;
}

struct CommandRegistry::Command {
  CommandSpec spec;
  CommandHandler handler;
};

CommandRegistry::~CommandRegistry() = default;

CommandRegistry::CommandRegistry(const std::string& program_name, const std::string& program_version) {
  add_builtins(program_name, program_version.empty() ? RONDO_VERSION : program_version);
}

Status CommandRegistry::add(CommandSpec spec, CommandHandler handler) {
  RONDO_ASSERT(handler != nullptr);
  if (spec.name.empty()) return Status{StatusCode::InvalidArgument, "a command needs a name"};
  std::set<std::string_view> known;
  for (const ArgumentSpec& argument : spec.arguments) {
    if (!known.insert(argument.name).second) {
      return Status{StatusCode::InvalidArgument, "command '" + spec.name + "' has two arguments named '" + argument.name + "'"};
    }
    if (argument.name.empty() || argument.name == "id" || argument.name == "command") {
      return Status{StatusCode::InvalidArgument, "command '" + spec.name + "' cannot have an argument named '" + argument.name + "'"};
    }
  }
  const std::string name = spec.name;
  auto command = std::make_unique<const Command>(Command{std::move(spec), std::move(handler)});
  const bool added = commands_.try_emplace(name, std::move(command)).second;
  if (!added) return Status{StatusCode::AlreadyExists, "command '" + name + "' is registered twice"};
  return {};
}

Result<const CommandRegistry::Command*> CommandRegistry::find(const json::object& request) const {
  const json::value* const name = request.if_contains("command");
  if (name == nullptr) return failure(StatusCode::InvalidArgument, "the request has no \"command\"");
  if (!name->is_string()) return failure(StatusCode::InvalidArgument, "\"command\" must be a string");
  const std::string_view word = view(name->get_string());
  const auto place = commands_.find(word);
  if (place != commands_.end()) return place->second.get();
  std::vector<std::string_view> names;
  for (const auto& entry : commands_) names.push_back(entry.first);
  const std::string_view shown = word.substr(0, 100);
  return failure(StatusCode::NotFound, "unknown command '" + std::string{shown} + "'" + did_you_mean(word, names));
}

Status CommandRegistry::check(const CommandSpec& spec, const json::object& request) {
  for (const auto& member : request) {
    const std::string_view name{member.key().data(), member.key().size()};
    if (name == "id" || name == "command") continue;
    const ArgumentSpec* const argument = find_argument(spec, name);
    if (argument == nullptr) {
      return Status{StatusCode::InvalidArgument, "unknown argument '" + std::string{name.substr(0, 100)} + "'; " + usage(spec)};
    }
    if (!has_kind(member.value(), argument->kind)) {
      return Status{StatusCode::InvalidArgument,
                    "argument '" + argument->name + "' of '" + spec.name + "' must be " + std::string{expectation(argument->kind)}};
    }
    if (Status counted = check_row_fields(member.value(), argument->kind); !counted.ok()) return counted;
  }
  for (const ArgumentSpec& argument : spec.arguments) {
    if (argument.required && !request.contains(argument.name)) {
      return Status{StatusCode::InvalidArgument, "argument '" + argument.name + "' is missing; " + usage(spec)};
    }
  }
  return {};
}

bool may_call(Role role, CommandEffect effect) noexcept {
  switch (effect) {
    case CommandEffect::Reads: return role != Role::Worker;
    case CommandEffect::Works: return role != Role::Viewer;
    case CommandEffect::Writes: return role == Role::Operator || role == Role::Admin;
    case CommandEffect::Administers: return role == Role::Admin;
  }
  return false;
}

void CommandRegistry::dispatch(const json::object& request, Reply reply, const BeforeWrite& before_write) const {
  const Result<const Command*> command = find(request);
  if (!command) {
    reply.fail(command.error());
    return;
  }
  if (!may_call(reply.caller().role, (*command)->spec.effect)) {
    reply.fail(may_not_call("command '" + (*command)->spec.name + "'", reply.caller()));
    return;
  }
  if (!reply.caller().group.empty() && !(*command)->spec.keeps_to_group) {
    reply.fail(not_of_group("command '" + (*command)->spec.name + "'", reply.caller()));
    return;
  }
  if (const Status checked = check((*command)->spec, request); !checked.ok()) {
    reply.fail(checked);
    return;
  }
  if (before_write && (*command)->spec.effect != CommandEffect::Reads) before_write((*command)->spec, Arguments{request});
  try {
    (*command)->handler(Arguments{request}, reply);
  } catch (...) {
    reply.fail(thrown_by("command '" + (*command)->spec.name + "'", std::current_exception()));
  }
}

std::vector<const CommandSpec*> CommandRegistry::commands() const {
  std::vector<const CommandSpec*> specs;
  for (const auto& entry : commands_) specs.push_back(&entry.second->spec);
  return specs;
}

void CommandRegistry::add_builtins(const std::string& program_name, const std::string& program_version) {
  const Status listed =
      add({.name = "commands", .help = "List the commands of this daemon", .effect = CommandEffect::Reads, .keeps_to_group = true},
          [this](const Arguments&, Reply reply) {
            reply.expect_rows();
            for (const CommandSpec* const spec : commands()) {
              json::array arguments;
              for (const ArgumentSpec& argument : spec->arguments) {
                arguments.push_back(json::object{
                    {"name", argument.name}, {"kind", to_string(argument.kind)}, {"required", argument.required}, {"help", argument.help}});
              }
              reply.row(json::object{
                  {"name", spec->name}, {"help", spec->help}, {"arguments", arguments}, {"writes", spec->effect != CommandEffect::Reads}});
            }
            reply.finish();
          });
  const Status versioned =
      add({.name = "version", .help = "Name and version of this daemon", .effect = CommandEffect::Reads, .keeps_to_group = true},
          [program_name, program_version](const Arguments&, Reply reply) {
            reply.finish(json::object{{"name", program_name}, {"version", program_version}});
          });
  RONDO_ASSERT(listed.ok() && versioned.ok());
}

}  // namespace rondo
