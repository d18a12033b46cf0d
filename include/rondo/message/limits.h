// Limits of messages and agents. rondo/base/limits.h says how to read them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rondo/base/time.h"

namespace rondo::limits {

// --- Messages

/// A message up to this size is stored in a place of the queue, which is two cache lines; a larger one costs an allocation.
/// Reached: a larger message costs an allocation. Figure: `MessageFigures::large`. Test: `Agents.LargeAndMoveOnlyMessagesAreHandedOver`.
inline constexpr std::size_t kInlineMessageBytes = 64;

/// Messages that wait for all agents of one priority together, 128 bytes each: 32 MiB. Further ones are refused with ResourceExhausted.
/// Reached: ResourceExhausted. Figure: `MessageFigures::refused`. Test: `MessageLimits.AQueueThatIsNotLimitedByAnOptionHasTheLimitOfAll`,
/// `MessageLimits.TheQueueOfAPriorityIsBounded`.
inline constexpr std::size_t kMessagesOfPriority = 262'144;

/// Messages of one type that wait for one agent, if the agent limits the type without a number. One agent can handle so many soon.
/// Reached: the answer that the agent chose for this case. Figure: `MessageFigures::refused`. Test:
/// `MessageLimits.ATypeWhoseLimitSaysNoNumberHasTheLimitOfAll`, `MessageLimits.RejectTellsTheSender`.
inline constexpr std::size_t kMessagesOfType = 4096;

/// A queue ends its turn after this time, when a reactor poll is due, too (kPollAfter, kPollPeriod): a port event waits no longer.
/// Reached: the turn ends; other sources have theirs. Figure: `MessageFigures::cut_turns`. Test:
/// `Agents.AQueueEndsItsTurnWhenOthersAreDueHoweverMuchItHas`.
inline constexpr Duration kMessagesTurn = 32us;

/// Places of handled messages that the receiving thread keeps before it returns them together; a queue has as many more.
/// Reached: they are returned. Figure: `MessageFigures::places`. Test: `MessageLimits.AQueueThatIsNotLimitedByAnOptionHasTheLimitOfAll`.
inline constexpr std::size_t kMessagePlacesKept = 64;

/// Places of a queue that are allocated at a time: 64 KiB.
/// Reached: another chunk is allocated. Figure: `MessageFigures::places`. Test:
/// `MessageAllocations.PostingPublishingTimersAndHandlersAllocateNothing`.
inline constexpr std::size_t kMessagePlacesChunk = 512;

/// Retries of a message whose handler throws, if its agent uses Reaction::Retry; then the message is dropped. A handler that fails so often
/// fails for another reason.
/// Reached: the message is lost, and AgentsOptions::on_fault reports it. Figure: `MessageFigures::faults`, which counts each attempt. Test:
/// `AgentReactions.AParkedMessageIsTriedAgainAfterItsDelayAndNoMoreThanItMay`.
inline constexpr unsigned kMessageRetries = 8;

/// The most retries that an agent may request: they are counted in one byte of the message's place. An agent with more is not added.
/// Reached: InvalidArgument; the agent's group is not added. Figure: none: Agents::refused_groups() counts it. Test:
/// `Retries.MoreThanThereMayBeAreRefusedWithTheAgent`.
inline constexpr unsigned kMessageRetriesMost = 250;

/// Agents of one Agents object, including removed ones with dropped messages still in a queue; further ones are refused. Their figures are
/// read without a lock from a table of fixed size.
/// Reached: ResourceExhausted; nothing is added. Figure: none: Agents::refused_groups() counts it. Test:
/// `Agents.OneMoreThanThereMayBeIsRefused`.
inline constexpr std::size_t kAgents = 65'536;

/// How long a removed agent handles its queue; then the rest is dropped and counted.
/// Reached: the rest is dropped and counted. Figure: `MessageFigures::dropped`. Test:
/// `Agents.AFloodOfAHigherPriorityStarvesNeitherStartNorEnd`.
inline constexpr Duration kAgentDrain = 5000ms;

}  // namespace rondo::limits
