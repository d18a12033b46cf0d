#include "rondod/logs/write_log.h"

#include <algorithm>

#include "admin/peer.h"
#include "admin/secrets.h"
#include "base/user_name.h"

namespace rondo::daemon {

namespace {

/// The most sums between two calls of flush(), and the most user names kept: more than people and programs have connections.
constexpr std::size_t kWritersMost = 256;

}  // namespace

void WriteLog::add(const AdminWrite& write) {
  const Caller& caller = write.caller;
  if (!caller.token.empty()) names_.insert_or_assign(caller.user, rondo::name_of(caller));
  if (!write.error.empty()) return add_failed(write);
  const bool is_bulk = write.command == "load" || write.command == "write";
  unsigned& credit = is_bulk ? row_credit_ : credit_;
  if (is_bulk && (!write.before || credit == 0)) {
    if (rows_.size() >= kWritersMost) flush();
    // One row of a batch is named by its table and its key.
    const std::string_view table = write.before ? write.what.substr(0, write.what.find(' ')) : write.what;
    rows_[{caller.user, caller.process, std::string{table}}] += write.rows;
    return;
  }
  if (credit == 0) {
    if (calls_.size() >= kWritersMost) flush();
    ++calls_[{caller.user, caller.process, std::string{write.command}}];
    return;
  }
  --credit;
  const std::string what = hide_secrets(write.what);
  const std::string& user = name_of(caller.user);
  if (write.before) {
    return log_.info("write", {{"command", write.command},
                               {"what", what},
                               {"before", *write.before},
                               {"after", write.after},
                               {"user", user},
                               {"uid", caller.user},
                               {"pid", caller.process}});
  }
  log_.info("write", {{"command", write.command}, {"what", what}, {"user", user}, {"uid", caller.user}, {"pid", caller.process}});
}

void WriteLog::add_failed(const AdminWrite& write) {
  const Caller& caller = write.caller;
  if (failed_credit_ == 0) {
    if (failed_.size() >= kWritersMost) flush();
    ++failed_[{caller.user, caller.process, std::string{write.command}}];
    return;
  }
  --failed_credit_;
  log_.info("failed write", {{"command", write.command},
                             {"what", hide_secrets(write.what)},
                             {"error", write.error},
                             {"user", name_of(caller.user)},
                             {"uid", caller.user},
                             {"pid", caller.process}});
}

void WriteLog::flush() {
  for (const auto& [writer, rows] : rows_) {
    const auto& [user, process, table] = writer;
    log_.info("bulk write", {{"table", table}, {"rows", rows}, {"user", name_of(user)}, {"uid", user}, {"pid", process}});
  }
  rows_.clear();
  // A line each: a log limits the rate of each line of the program.
  for (const auto& [writer, calls] : calls_) {
    const auto& [user, process, command] = writer;
    log_.info("writes", {{"command", command}, {"calls", calls}, {"user", name_of(user)}, {"uid", user}, {"pid", process}});
  }
  calls_.clear();
  for (const auto& [writer, calls] : failed_) {
    const auto& [user, process, command] = writer;
    log_.info("failed writes", {{"command", command}, {"calls", calls}, {"user", name_of(user)}, {"uid", user}, {"pid", process}});
  }
  failed_.clear();
  credit_ = std::min(credit_ + kLinesOfSecond, kBurst);
  row_credit_ = std::min(row_credit_ + kLinesOfSecond, kBurst);
  failed_credit_ = std::min(failed_credit_ + kLinesOfSecond, kBurst);
}

const std::string& WriteLog::name_of(std::uint32_t user) {
  if (names_.size() >= kWritersMost) std::erase_if(names_, [](const auto& one) { return one.first < kTokenUsers; });
  const auto [place, is_new] = names_.try_emplace(user);
  if (is_new) place->second = user_name(user);
  return place->second;
}

}  // namespace rondo::daemon
