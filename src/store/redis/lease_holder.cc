#include "store/redis/lease_holder.h"

#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <sstream>
#include <vector>

#include "rondo/base/text.h"

namespace rondo::redis {

namespace {

/// The parts of a holder's text, in this order, separated by spaces.
enum Part : std::size_t { kHost, kPid, kStart, kBoot, kNamespace, kRandom, kParts };

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == 0) return "unknown";
  std::string text = name;
  for (char& c : text) {
    if (c <= ' ') c = '_';
  }
  return text;
}

/// When the process began, in ticks since the boot; empty if there is no such process, or if it is a zombie.
std::string start_of(std::string_view pid) {
  std::ifstream in("/proc/" + std::string{pid} + "/stat");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  // The process name before it may contain any character.
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream rest(text.substr(end + 1));
  std::string word;
  for (int field = 3; field <= 22 && rest >> word; ++field) {
    if (field == 3 && (word == "Z" || word == "X")) return {};
  }
  return rest ? word : std::string{};
}

std::string boot() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  in >> id;
  return id.empty() ? "unknown" : id;
}

/// A pid is valid in one namespace only.
std::string pid_namespace() {
  struct stat found {};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? std::to_string(found.st_ino) : "unknown";
}

std::string random_word() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) number = std::random_device{}();
  return std::to_string(number);
}

std::string holder_with(const std::string& word) {
  const std::string pid = std::to_string(::getpid());
  const std::string start = start_of(pid);
  return host_name() + " " + pid + " " + (start.empty() ? "unknown" : start) + " " + boot() + " " + pid_namespace() + " " + word;
}

std::optional<std::array<std::string, kParts>> parts_of(std::string_view holder) {
  std::istringstream in{std::string{holder}};
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  if (words.size() != kParts) return std::nullopt;
  std::array<std::string, kParts> parts;
  std::copy(words.begin(), words.end(), parts.begin());
  std::uint32_t pid = 0;
  const std::string& text = parts[kPid];
  const auto read = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return parts;
}

}  // namespace

std::string new_lease_holder() { return holder_with(random_word()); }

std::string process_lease_holder() {
  static const std::string kWord = random_word();  // A child of fork() has it too, with another pid.
  return holder_with(kWord);
}

bool is_gone(std::string_view holder) {
  const auto parts = parts_of(holder);
  if (!parts || (*parts)[kBoot] == "unknown" || (*parts)[kBoot] != boot()) return false;
  if ((*parts)[kNamespace] == "unknown" || (*parts)[kNamespace] != pid_namespace() || (*parts)[kStart] == "unknown") return false;
  // If /proc hides the processes of other users, this process can see only its own.
  if (::access("/proc/1/stat", R_OK) != 0) return false;
  return start_of((*parts)[kPid]) != (*parts)[kStart];
}

std::string describe_holder(std::string_view holder) {
  const auto parts = parts_of(holder);
  if (!parts) return "another program (it has set RONDO_LEASE to '" + visible_text(holder.substr(0, 80)) + "'; delete that key)";
  return "pid " + (*parts)[kPid] + " on host " + visible_text((*parts)[kHost]);
}

}  // namespace rondo::redis
