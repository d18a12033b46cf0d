// The agents of a runtime: beside its Orchs, on its scheduler and thread. The messages of its Orchs (MessagingOrch) use the same object.
#pragma once

#include "rondo/message/agents.h"
#include "rondo/orch/runtime.h"

namespace rondo {

/// The agents of 'runtime'. The first call makes them, with default options, on the runtime's thread. They end with the runtime, after its
/// Orchs.
Agents& agents_of(Runtime& runtime);
/// The same with options, before the first call of agents_of() and the first MessagingOrch (assert). Without an 'on_fault' in them,
/// Runtime::on_reject receives the messages whose handlers throw: 'table' is the name of the Orch or agent, and 'change' is an event with
/// the verb "message" and the message's type as key.
Agents& make_agents(Runtime& runtime, AgentsOptions options);

}  // namespace rondo
