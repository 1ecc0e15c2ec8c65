/* A colour of up to 256 that are told by numbers: red, green, blue, and whether it is known. */

#ifndef PLAYHEAD_COLOURS_H
#define PLAYHEAD_COLOURS_H

#include <stddef.h>
#include <stdint.h>

struct colour {
    uint8_t red_green_blue[3], is_known;
};

/* Write a picture of so many pixels as their colours. */
void playhead_spell(uint8_t *to, const uint8_t *numbers, size_t pixels, const struct colour *colours);

/* Whether all colours of a picture are known, of which a line has so many pixels. */
int playhead_know(const uint8_t *numbers, size_t pixels, size_t line, const struct colour *colours);

/* Take the colours of a picture; tell whether each number has one, the known one. */
int playhead_learn(const uint8_t *numbers, const uint8_t *picture, size_t pixels, struct colour *colours);

#endif
