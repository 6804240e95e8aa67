// All checks of the decoder, on the emulated device.

#include "check-decoder.h"

int checkDecoder() {
  return reverie::test::checkDecoderLogits() + reverie::test::checkDecoderSampling() + reverie::test::checkDecoderSequences();
}
