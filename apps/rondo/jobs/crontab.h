// Reads a crontab: each line becomes the definition of a job.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::cli {

struct CrontabForm {
  std::string handler;  // What runs the commands.
  std::string prefix;   // The jobs are named PREFIX/NAME.
  std::string zone;     // Zone of lines without CRON_TZ above them.
  // The lines have a column of users: the commands of USER have the handler HANDLER-USER.
  bool has_users = false;
};

struct Crontab {
  std::vector<boost::json::object> definitions;
  std::vector<std::string> lines;     // The place of each definition: "line 7".
  std::vector<std::string> refused;   // "line 7: @reboot is no instant"
  std::vector<std::string> left_out;  // Settings without a meaning here, such as "line 1: MAILTO".
};

/// True if the file is a system's crontab, in which a user follows the time: by its place (/etc/crontab, /etc/cron.d), or by a heading of
/// the columns.
bool has_column_of_users(const std::string& path, std::string_view text);

/// Vixie cron's form: five fields or @daily, in a system's crontab a user, then the command. Its input, behind the first '%', becomes a
/// here-document of the command. Comments directly above a line are its note, but for those above a heading of the columns. CRON_TZ holds
/// for the lines below it. The expressions are checked; the zones are not.
///
/// A comment "rondo-job: NAME" above a line names its job. Other jobs are named after the program and a digest of the expression and the
/// command, such as "backup-1f7a90c3": so a line keeps its job when others come and go. A line that stands there twice has two jobs.
Crontab read_crontab(std::string_view text, const CrontabForm& form);

}  // namespace rondo::cli
