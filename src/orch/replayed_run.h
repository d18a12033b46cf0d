// ReplayedRun: a recorded run that a replay runs again: what decides and answers in place of clock, state and targets. replay::Replay makes
// it.
#pragma once

namespace rondo {

class ExecutorRecords;
class TurnOverrides;

struct ReplayedRun {
  TurnOverrides* turns = nullptr;
  ExecutorRecords* executors = nullptr;
};

}  // namespace rondo
