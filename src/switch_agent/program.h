// program: gives one order, or a few, to the urgent lane and delivers one answer. Bulk users (routes) call the Programmer directly.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/programmer.h"

namespace rondo::switch_agent {

inline void program(Programmer& programmer, Order order, std::function<void(const Status&)> answer) {
  std::vector<Operation> ops;
  ops.push_back(Operation{std::move(order), {}});
  programmer.submit(OrderLane::Urgent, std::move(ops), [answer = std::move(answer)](std::span<Operation> done) {
    for (const Operation& op : done) answer(op.status);
  });
}

/// Gives the orders and calls 'then' when all are answered, with the first failure if there is one. A device that exists already, and an
/// object that is gone already, count as done.
inline void program_all(Programmer& programmer, std::vector<Operation> orders, std::function<void(const Status&)> then) {
  if (orders.empty()) return then({});
  struct Answers {
    std::size_t left;
    Status status;
  };
  const auto answers = std::make_shared<Answers>(Answers{orders.size(), {}});
  programmer.submit(OrderLane::Urgent, std::move(orders), [answers, then = std::move(then)](std::span<Operation> done) {
    for (const Operation& operation : done) {
      // The device that an earlier run, or another program, has made.
      const bool is_there = operation.status.code() == StatusCode::AlreadyExists;
      const bool is_gone = operation.status.code() == StatusCode::NotFound && is_delete(operation.order);
      if (answers->status.ok() && !is_there && !is_gone) answers->status = operation.status;
    }
    answers->left -= done.size();
    if (answers->left == 0) then(answers->status);
  });
}

}  // namespace rondo::switch_agent
