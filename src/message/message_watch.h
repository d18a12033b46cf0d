// MessageWatch: an observer of the messages of agents, for sim::AgentKit.
#pragma once

#include <string_view>

namespace rondo {

/// Receives each message before its handler does, on the agent's thread: for tests and traces. An exception of it is ignored.
class MessageWatch {
 public:
  virtual ~MessageWatch() = default;
  virtual void handling(std::string_view agent) = 0;
};

}  // namespace rondo
