#include "rondod/configuration/notify_section.h"

#include <algorithm>
#include <array>
#include <set>

#include "rondo/dataplane/ip.h"
#include "rondod/configuration/section_reader.h"
#include "rondod/limits.h"

namespace rondo::daemon {

namespace {

constexpr std::array<std::pair<std::string_view, NotifyKind>, 3> kNotifyKinds{
    {{"mail", NotifyKind::Mail}, {"webhook", NotifyKind::Webhook}, {"command", NotifyKind::Command}}};
constexpr std::array<std::string_view, 3> kEvents{"failure", "recovery", "late"};
constexpr std::size_t kNameBytes = 64;

bool is_word(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytes && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// An address of mail goes into a command of SMTP and into a header: it has no character that could end either.
bool is_mail_address(std::string_view text) {
  const std::size_t at = text.find('@');
  const bool is_plain = std::ranges::all_of(
      text, [](char c) { return c > ' ' && c < '\x7f' && c != '<' && c != '>' && c != ',' && c != ';' && c != '"' && c != '\\'; });
  return is_plain && at != std::string_view::npos && at > 0 && at + 1 < text.size();
}

bool begins_with_one_of(std::string_view text, std::string_view one, std::string_view other) {
  return text.starts_with(one) || text.starts_with(other);
}

void check_target(SectionReader& s, const NotifyChoice& read) {
  if (read.kind == NotifyKind::Webhook && !begins_with_one_of(read.target, "http://", "https://"))
    s.complain("target", "must be the URL of the webhook, http:// or https://");
  if (read.kind == NotifyKind::Mail && !begins_with_one_of(read.target, "smtp://", "smtps://"))
    s.complain("target", "must be the mail server, such as \"smtp://mail.example:587\" or \"smtps://mail.example\"");
  if (read.kind == NotifyKind::Command && !is_word(read.target))
    s.complain("target", "must be the name of a command of workers: 1 to 64 letters, digits and characters of _-");
  if (read.kind != NotifyKind::Mail) return;
  if (!is_mail_address(read.from)) s.complain("from", "must be an address of mail, such as \"rondo@example.org\"");
  if (read.to.empty() || !std::ranges::all_of(read.to, is_mail_address)) s.complain("to", "must be a list of addresses of mail");
  if (read.user.empty() != read.secret_file.empty()) s.complain("user", "and secret_file need each other");
}

void read_one(const toml::table* table, const std::string& file, Status& error, NotifyChoice& read) {
  SectionReader s{table, "notify", file, error};
  s.text("name", read.name);
  s.choice("kind", kNotifyKinds, read.kind);
  s.text("target", read.target);
  s.texts("events", read.events);
  s.text("jobs", read.jobs);
  s.integer("late_s", 1, limits::kNotifyLate, read.late_s);
  s.texts("networks", read.networks);
  s.text("from", read.from);
  s.texts("to", read.to);
  s.text("user", read.user);
  s.text("secret_file", read.secret_file);
  if (!is_word(read.name)) s.complain("name", "must have 1 to 64 letters, digits and characters of _-");
  const auto is_event = [](const std::string& event) { return std::ranges::find(kEvents, event) != kEvents.end(); };
  if (read.events.empty() || !std::ranges::all_of(read.events, is_event))
    s.complain("events", "must have some of 'failure', 'recovery' and 'late'");
  if (read.jobs.empty() || read.jobs.size() > limits::kNotifyPattern)
    s.complain("jobs", "must be a pattern of names of jobs, in which * stands for any characters");
  for (const std::string& network : read.networks) {
    if (const auto prefix = Prefix::parse(network); !prefix)
      s.complain("networks", "names no network: " + std::string{prefix.error().message()});
  }
  check_target(s, read);
}

toml::array array_of(const std::vector<std::string>& texts) {
  toml::array array;
  for (const std::string& text : texts) array.push_back(text);
  return array;
}

}  // namespace

std::string_view to_string(NotifyKind kind) noexcept {
  return std::ranges::find(kNotifyKinds, kind, &std::pair<std::string_view, NotifyKind>::second)->first;
}

void read_notify(const toml::array* sections, const std::string& file, Status& error, bool runs_jobs, std::vector<NotifyChoice>& all) {
  if (sections == nullptr) return;
  std::set<std::string> names;
  for (const toml::node& section : *sections) {
    read_one(section.as_table(), file, error, all.emplace_back());
    SectionReader s{nullptr, "notify", file, error};
    if (!names.insert(all.back().name).second) s.complain("name", section.source(), "is that of another section");
    if (all.size() > limits::kNotifyTargets)
      s.complain("name", section.source(), "is one too many: at most " + std::to_string(limits::kNotifyTargets));
    if (!runs_jobs) s.complain("name", section.source(), "needs [jobs] enabled = true");
  }
}

toml::array notify_array(const std::vector<NotifyChoice>& all) {
  toml::array sections;
  for (const NotifyChoice& one : all) {
    sections.push_back(toml::table{{"name", one.name},
                                   {"kind", to_string(one.kind)},
                                   {"target", one.target},
                                   {"events", array_of(one.events)},
                                   {"jobs", one.jobs},
                                   {"late_s", one.late_s},
                                   {"networks", array_of(one.networks)},
                                   {"from", one.from},
                                   {"to", array_of(one.to)},
                                   {"user", one.user},
                                   {"secret_file", one.secret_file}});
  }
  return sections;
}

}  // namespace rondo::daemon
