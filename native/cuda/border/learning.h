// Learners of the processor (processor/actor-critic.h, member-update.h) for JavaScript: a learner is an object
// that is freed with the last of its references, and its state stays in the caller's arrays.
#pragma once

#include <napi.h>

namespace reverie::border {

/** (spec, width): a learner. Throws a TypeError for a spec that is none. */
Napi::Value makeActorCritic(const Napi::CallbackInfo& info);

/**
 * (learner, steps, state, inputs, batches, metrics): a promise of gradient steps, which change state and metrics in place: of all that
 * learns, or of the critics where the state has them, else of the policy.
 */
Napi::Value runActorCritic(const Napi::CallbackInfo& info);

/** The same of a member of an ensemble: (spec, width), and (learner, steps, state, rows, chosen, metrics). */
Napi::Value makeMember(const Napi::CallbackInfo& info);
Napi::Value runMember(const Napi::CallbackInfo& info);

}  // namespace reverie::border
