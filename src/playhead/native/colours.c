/* Pictures whose pixels are numbers of colours, as the emulator of the Atari draws them. */

#include "colours.h"

#include <string.h>

#define FEW 16 /* pixels that are looked at together */

void playhead_spell(uint8_t *to, const uint8_t *numbers, size_t pixels, const struct colour *colours)
{
    if (!pixels)
        return;
    for (; pixels > 1; pixels--, to += 3)
        memcpy(to, &colours[*numbers++], 4); /* the fourth byte is written over by the next pixel */
    memcpy(to, &colours[*numbers], 3);
}

static int are_known(const uint8_t *numbers, size_t pixels, const struct colour *colours)
{
    int known = 1;
    for (size_t i = 0; i < pixels; i++)
        known &= colours[numbers[i]].is_known;
    return known;
}

int playhead_know(const uint8_t *numbers, size_t pixels, size_t line, const struct colour *colours)
{
    size_t at = line < pixels ? line : pixels;
    if (!are_known(numbers, at, colours))
        return 0;
    for (; pixels - at >= FEW; at += FEW) /* most of a line is as in the line before */
        if (memcmp(numbers + at, numbers + at - line, FEW) && !are_known(numbers + at, FEW, colours))
            return 0;
    return are_known(numbers + at, pixels - at, colours);
}

int playhead_learn(const uint8_t *numbers, const uint8_t *picture, size_t pixels, struct colour *colours)
{
    for (size_t i = 0; i < pixels; i++, picture += 3) {
        struct colour *colour = &colours[numbers[i]];
        if (!colour->is_known) {
            memcpy(colour->red_green_blue, picture, 3);
            colour->is_known = 1;
        } else if (memcmp(colour->red_green_blue, picture, 3)) {
            return 0;
        }
    }
    return 1;
}
