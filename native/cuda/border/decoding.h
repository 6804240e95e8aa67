// Decoders on a device (engine/decoder.h) for JavaScript: a decoder is an object that is freed with the last of its references, or
// when it is closed.
#pragma once

#include <napi.h>

namespace reverie::border {

/**
 * Adds to `exports`, promises all:
 *   decoderFit(where, sizes, options)      why no decoder of these sizes runs there; empty where it does
 *   makeDecoder(where, weights, options)   { decoder, bytes, sequences, device }
 *   takePrompts(decoder, prompts)          [slots], once the prompts are read
 *   advanceSlots(decoder, { steps, slots }) those of the slots that ended within so many tokens; they are free again
 *   slotLogits(decoder, { slots })         [slots, vocab]
 *   appendTokens(decoder, { slots, tokens }), freeSlots(decoder, { slots }), closeDecoder(decoder)
 */
void addDecoding(Napi::Env env, Napi::Object exports);

}  // namespace reverie::border
