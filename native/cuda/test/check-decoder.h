// The checks of the decoder; each answers how many failed.
#pragma once

namespace reverie::test {

int checkDecoderLogits();
int checkDecoderSampling();
int checkDecoderSequences();

}  // namespace reverie::test

/** All of them. */
int checkDecoder();
