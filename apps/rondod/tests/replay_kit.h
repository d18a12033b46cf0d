// For tests: replays a run that rondod recorded.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "rondo/replay/replay.h"
#include "switch_agent/agent.h"

namespace rondo::daemon {

/// Runs the production scheduler and agent with the recorded input.
inline replay::ReplayReport replay_day(const std::string& day) {
  Result<std::unique_ptr<replay::Replay>> opened = replay::Replay::open({day});
  EXPECT_TRUE(opened.has_value());
  const auto number = [&](std::string_view name) { return std::stoul((*opened)->note(name).value_or("0")); };
  switch_agent::SwitchAgentOptions options;
  options.table = static_cast<std::uint32_t>(number("agent.table"));
  options.orders_max = number("agent.orders_max");
  options.retry_quota = static_cast<std::uint32_t>(number("agent.retry_quota"));
  options.answers = &(*opened)->answers();
  options.restart = &(*opened)->restart();
  Runtime runtime((*opened)->runtime_options());
  switch_agent::SwitchAgent agent(runtime, (*opened)->plane(), options);
  EXPECT_TRUE(agent.start().ok());
  return (*opened)->run(runtime);
}

}  // namespace rondo::daemon
