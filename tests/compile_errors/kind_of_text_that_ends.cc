// Must not compile: the text may be destroyed before the kind of fact that it names.
#include <string>

#include "rondo/orch/constraint.h"

rondo::ConstraintKind kind_of(const std::string& text) { return rondo::ConstraintKind{text.c_str()}; }
