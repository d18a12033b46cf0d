#include "rondod/notify/notice.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <ctime>

#include "rondo/base/text.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;

constexpr std::size_t kBase64Line = 57;  // Bytes that become 76 characters.

/// With bytes outside of printable ASCII as '?'.
std::string header_text(std::string_view text) {
  std::string safe{text};
  std::ranges::replace_if(
      safe, [](char c) { return c < ' ' || c > '~'; }, '?');
  return safe;
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8U | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? kDigits[group >> (18 - 6 * i) & 63U] : '=';
    if ((at + 3) % kBase64Line == 0) text += "\r\n";
  }
  return text;
}

/// "Sun, 29 Nov 2026 01:02:03 +0000", in no locale.
std::string mail_time(WallTime at) {
  constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = at.nanoseconds() / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> rest{};
  std::strftime(rest.data(), rest.size(), "%Y %H:%M:%S +0000", &parts);
  return std::string{kDays[static_cast<std::size_t>(parts.tm_wday)]} + ", " + std::to_string(parts.tm_mday) + " " +
         kMonths[static_cast<std::size_t>(parts.tm_mon)] + " " + rest.data();
}

std::string seconds_of(Duration time) { return std::to_string(time / 1s) + " s"; }

/// The body of a mail.
std::string words_of(const Notice& notice, std::string_view host) {
  const jobs::JobRun& run = notice.run;
  std::string words = subject_of(notice) + "\n\n";
  const auto line = [&words](std::string_view name, const std::string& value) {
    words += std::string{name} + std::string(10 - name.size(), ' ') + value + "\n";
  };
  line("host", visible_text(host));
  if (notice.event == Event::Test) return words;
  line("run", std::to_string(run.id) + ", scheduled " + calendar::format_rfc3339(run.scheduled));
  if (run.ended) line("ended", calendar::format_rfc3339(*run.ended) + " as " + std::string{to_string(run.state)});
  if (notice.event != Event::Late) line("attempts", std::to_string(run.attempt));
  if (!run.note.empty()) line("note", visible_text(run.note));
  if (notice.more > 0) line("more", std::to_string(notice.more) + " earlier ones were not sent on their own");
  return words + "\n`rondo job runs " + run.job + "` lists its runs.\n";
}

}  // namespace

std::string_view to_string(Event event) noexcept {
  switch (event) {
    case Event::Failure: return "failure";
    case Event::Recovery: return "recovery";
    case Event::Late: return "late";
    case Event::Test: return "test";
  }
  return "";
}

std::string json_of(const Notice& notice, std::string_view host) {
  json::object object{{"event", to_string(notice.event)}, {"host", visible_text(host)}};
  if (notice.event == Event::Test) return json::serialize(object);
  const jobs::JobRun& run = notice.run;
  object["job"] = visible_text(run.job);
  object["run"] = run.id;
  object["scheduled"] = calendar::format_rfc3339(run.scheduled);
  if (run.ended) object["ended"] = calendar::format_rfc3339(*run.ended);
  if (notice.event == Event::Late) {
    object["late_s"] = notice.late / 1s;
  } else {
    object["state"] = to_string(run.state);
    object["attempts"] = run.attempt;
    object["failures"] = notice.failures;
  }
  if (notice.more > 0) object["more"] = notice.more;
  if (!run.note.empty()) object["note"] = visible_text(run.note);
  return json::serialize(object);
}

std::string subject_of(const Notice& notice) {
  const std::string job = "job " + visible_text(notice.run.job);
  switch (notice.event) {
    case Event::Failure:
      return job + (notice.run.state == jobs::RunState::TimedOut ? " timed out" : " failed") +
             (notice.failures > 1 ? ", " + std::to_string(notice.failures) + " times in a row" : std::string{});
    case Event::Recovery: return job + " succeeds again after " + std::to_string(notice.failures) + " failed runs";
    case Event::Late: return job + " is late: a run has not begun " + seconds_of(notice.late) + " after it was due";
    case Event::Test: return "a test of the notifications of rondod";
  }
  return {};
}

std::string mail_of(const Notice& notice, std::string_view host, const std::string& from, const std::vector<std::string>& to,
                    WallTime now) {
  std::string text;
  const auto field = [&text](std::string_view name, std::string_view value) {
    text += std::string{name} + ": " + header_text(value) + "\r\n";
  };
  std::string all;
  for (const std::string& one : to) all += (all.empty() ? "" : ", ") + one;
  field("From", from);
  field("To", all);
  field("Subject", "[rondo] " + subject_of(notice));
  field("Date", mail_time(now));
  field("Message-ID", "<" + std::to_string(now.nanoseconds()) + "." + std::to_string(notice.run.id) + "@" + std::string{host} + ">");
  field("Auto-Submitted", "auto-generated");
  field("MIME-Version", "1.0");
  field("Content-Type", "text/plain; charset=utf-8");
  field("Content-Transfer-Encoding", "base64");
  return text + "\r\n" + base64_of(words_of(notice, host)) + "\r\n";
}

}  // namespace rondo::daemon
