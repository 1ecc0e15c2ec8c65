/* Many arrays copied in one call, for which a caller in Python lets go of the interpreter once and asks for it once. */

#include "colours.h"

#include <string.h>

struct piece {
    uint64_t to, from, bytes; /* addresses, and how much comes there */
    uint64_t colours;         /* 0, or the address of 256 of them, whose numbers lie there: one for three bytes */
};

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

void playhead_gather(const struct piece *pieces, size_t number)
{
    for (size_t i = 0; i < number; i++) {
        const struct piece *piece = &pieces[i];
        if (piece->colours)
            playhead_spell(at(piece->to), at(piece->from), piece->bytes / 3, at(piece->colours));
        else
            memcpy(at(piece->to), at(piece->from), piece->bytes);
    }
}
