// Door: what executors send to the scheduler: who may send it, what it says, and the answer in their format. HTTP thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/http_thread.h"
#include "jobs/executors/wire.h"
#include "rondo/dataplane/ip.h"

namespace rondo::jobs::executors {

/// Executors that take each other's runs.
struct ExecutorGroup {
  std::string name;
  /// The secret that the group and the scheduler show each other. Empty: none.
  std::string token = {};
  /// Where executors may register and call back without a token.
  std::vector<Prefix> allow_without_token = {};
  /// Addresses in their canonical form that take runs without registering.
  std::vector<std::string> addresses = {};
  bool is_orth = false;  // True if 'addresses' are executors of Orth.
};

/// The protocol of an executor.
enum class Dialect : std::uint8_t { Classic, Later, Orth };  // xxl-job up to 3.4, xxl-job 3.5, Orth.

/// An executor registers, or takes leave.
struct Registered {
  Registration what;
  Dialect dialect = Dialect::Classic;
  bool leaves = false;
};

/// Results of runs. 'groups': those that the sender may speak for.
struct CalledBack {
  std::set<std::string> groups;
  std::vector<CallbackItem> items;
};

/// Answers an executor with a code and a message, as in answer_body(). Once.
using DoorAnswer = std::function<void(std::int64_t code, std::string_view message)>;

class Door {
 public:
  /// Both are called on the home thread.
  struct Home {
    std::function<void(Registered registered, DoorAnswer answer)> registered;
    std::function<void(CalledBack results, DoorAnswer answer)> called_back;
    /// A call that was refused, for people: who called, and why it was refused. Some are not told if there are too many.
    std::function<void(std::string what)> refused;
  };

  Door(std::vector<ExecutorGroup> groups, Home home) : groups_(std::move(groups)), home_(std::move(home)) {}

  /// Answers POST of /api/registry, /api/registryRemove and /api/callback, also below one more segment such as /xxl-job-admin. Answers have
  /// the status 200, also refusals: clients of JavaScript end their process at another one. Other paths: 404.
  void handle(http::Request request, http::Answer answer, http::HttpGate& gate) const;
  /// limits::kExecutorBody for a callback whose sender may speak for a group, else limits::kHttpBodyBytes: a stranger makes the server hold
  /// no more.
  std::size_t body_limit(const http::Request& head) const;

 private:
  std::set<std::string> groups_of(const http::Request& request, Dialect& dialect) const;

  const std::vector<ExecutorGroup> groups_;
  const Home home_;
};

}  // namespace rondo::jobs::executors
