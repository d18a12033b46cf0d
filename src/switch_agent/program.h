// program: gives one order to the urgent lane and delivers one answer. Bulk users (routes) call the Programmer directly.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "rondo/dataplane/programmer.h"

namespace rondo::switch_agent {

inline void program(Programmer& programmer, Order order, std::function<void(const Status&)> answer) {
  std::vector<Operation> ops;
  ops.push_back(Operation{std::move(order), {}});
  programmer.submit(OrderLane::Urgent, std::move(ops), [answer = std::move(answer)](std::span<Operation> done) {
    for (const Operation& op : done) answer(op.status);
  });
}

}  // namespace rondo::switch_agent
