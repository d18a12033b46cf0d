#include "rondo/message/messaging_orch.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "message/agents_impl.h"
#include "rondo/base/assert.h"
#include "rondo/message/runtime_agents.h"

namespace rondo {

/// The agent of a MessagingOrch. Its handlers are those of the Orch, which ends before the scheduler gives another turn.
class message::OrchMailbox final : public Agent {
 public:
  OrchMailbox(AgentGroup& group, std::string name, Priority priority) : Agent(group, std::move(name), priority) {}
  /// Makes a mailbox that is not added yet. Asserts that there is room for it.
  static std::unique_ptr<OrchMailbox> make(Agents& agents, std::string name, Priority priority) {
    AgentGroup group(agents);
    return std::make_unique<OrchMailbox>(group, std::move(name), priority);
  }
  /// Adds 'mailbox' to 'agents', which own it from then on.
  static void add(std::unique_ptr<OrchMailbox> mailbox, Agents& agents) {
    std::vector<std::unique_ptr<Agent>> all;
    all.push_back(std::move(mailbox));
    const Result<GroupId> added = agents.impl_->add(all);
    RONDO_ASSERT(added.has_value());  // Refused only while the agents end.
  }

  void add(const Handler& handler) { add_handler(handler); }
  void add(const MessageType& type, const Limit& limit, const KeyOf& key) { add_limit(type, limit, key); }
  Status add(const std::shared_ptr<TopicCore>& topic, const Handler& handler) { return subscribe(topic, handler); }
};

MessagingOrch::MessagingOrch(Runtime& runtime, std::string name, Priority priority) : Orch(runtime, std::move(name), priority) {}

MessagingOrch::~MessagingOrch() = default;

message::OrchMailbox& MessagingOrch::mailbox() {
  RONDO_EXPECT(!is_added_,
               "Orch '" + std::string{name()} + "': address(), receive(), subscribe(), limit() or coalesce() after its constructor");
  if (mailbox_ == nullptr) mailbox_ = message::OrchMailbox::make(agents_of(runtime()), std::string{name()}, priority());
  return *mailbox_;
}

Address MessagingOrch::address() {
  if (!address_) address_ = mailbox().address();
  return address_;
}

void MessagingOrch::add_handler(const message::Handler& handler) {
  mailbox().add(handler);
  static_cast<void>(address());
}

Status MessagingOrch::add_subscription(const std::shared_ptr<message::TopicCore>& topic, const message::Handler& handler) {
  return mailbox().add(topic, handler);
}

void MessagingOrch::add_limit(const message::MessageType& type, const Limit& limit, const message::KeyOf& key) {
  mailbox().add(type, limit, key);
}

void MessagingOrch::on_added() {
  is_added_ = true;
  if (mailbox_ != nullptr) message::OrchMailbox::add(std::move(mailbox_), agents_of(runtime()));
}

}  // namespace rondo
