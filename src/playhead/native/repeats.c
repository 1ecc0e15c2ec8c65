/* Images that follow one another, compressed by what they repeat.
 *
 * Zstandard looks for repetitions by hashing. Of images far more is known beforehand: most of each is where it was in
 * the one before, or one line further up, or one pixel to the left. Here these distances are tried first, by comparing
 * bytes as fast as memory gives them, and what is found is handed to Zstandard, which writes a frame of its own from it:
 * a third of the work, a fifth of the bytes, and any Zstandard reads it. Each frame is read back and compared before it
 * counts.
 *
 * Nothing here knows of Python. Zstandard's functions are given by the caller, in `struct zstd`.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BLOCK ((size_t)1 << 17) /* the bytes that a block of a frame holds at most */
#define STRETCH 256             /* bytes that are compared by one call */
#define SHORTEST 5              /* a repetition of fewer bytes costs more than the bytes */
#define SHORTEST_FAR 8          /* the same for one that only hashing found, whose distance must be written out */
#define FAR_GAIN 3              /* bytes that such a one must be longer by */
#define FEW 3                   /* bytes, at most, that changed within a repetition: a pixel of three colours */
#define ENOUGH 64               /* bytes of a repetition that is taken without a look at other distances */
#define SMALL 16                /* a shorter distance is slow to read back over many bytes */
#define HASH_BITS 12

/* As Zstandard knows it: so many bytes as they are, then so many from so far back. */
struct sequence {
    uint32_t distance, literals, length, unused;
};

/* What the caller has of Zstandard, and the memory to work in. */
struct zstd {
    size_t (*compress_sequences)(void *context, void *out, size_t room, const struct sequence *sequences, size_t count,
                                 const void *data, size_t size);
    size_t (*decompress)(void *context, void *out, size_t room, const void *data, size_t size);
    unsigned (*is_error)(size_t code);
    void *compressing, *decompressing; /* its contexts */
    struct sequence *sequences;
    size_t most_sequences;
    uint8_t *copy; /* room for the largest chunk */
    uint32_t seen[1 << HASH_BITS];
};

/* Bytes to compress, and at which distances repetitions are likely in them, the likeliest first. */
struct chunk {
    const uint8_t *data;
    size_t bytes;
    const uint32_t *distances;
    size_t count;
    size_t packed; /* the size of its frame, or 0 where it is better left to Zstandard alone */
};

static inline uint32_t four(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t eight(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The first byte by which two words differ, as they lie in memory. */
static inline size_t first_byte_of(uint64_t difference)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (size_t)__builtin_clzll(difference) >> 3;
#else
    return (size_t)__builtin_ctzll(difference) >> 3;
#endif
}

/* How many bytes from `at` on, and before `end`, are those from `back` on. */
static inline size_t alike(const uint8_t *at, const uint8_t *back, const uint8_t *end)
{
    const uint8_t *start = at;
    for (int words = 0; end - at >= 8; words++) {
        if (words == 4)
            while (end - at >= STRETCH && !memcmp(at, back, STRETCH))
                at += STRETCH, back += STRETCH;
        if (end - at < 8)
            break;
        uint64_t difference = eight(at) ^ eight(back);
        if (difference)
            return (size_t)(at - start) + first_byte_of(difference);
        at += 8, back += 8;
    }
    while (at < end && *at == *back)
        at++, back++;
    return (size_t)(at - start);
}

/* Whether the likeliest repetition goes on behind a few bytes that changed, about as far as a far one of some length
 * would reach: those bytes as they are cost less than a distance. */
static int goes_on(const struct chunk *chunk, size_t at, size_t stop, size_t length)
{
    const uint8_t *here = chunk->data + at, *end = chunk->data + stop;
    uint32_t likely = chunk->distances[0];
    if (likely > at)
        return 0;
    for (size_t changed = 1; changed <= FEW && changed < stop - at; changed++)
        if (changed + alike(here + changed, here + changed - likely, end) + SHORTEST_FAR >= length)
            return 1;
    return 0;
}

/* Find what a chunk repeats; give the number of sequences, each block ended by one of no length, or 0 where too little
 * is repeated. */
static size_t find(struct zstd *zstd, const struct chunk *chunk)
{
    const uint8_t *data = chunk->data;
    const size_t size = chunk->bytes;
    struct sequence *found = zstd->sequences;
    size_t number = 0, odd = 0, at = 0;
    if (!chunk->count)
        return 0;
    memset(zstd->seen, 0, sizeof zstd->seen);
    while (at < size) {
        size_t stop = size - at < BLOCK ? size : at + BLOCK, told = at;
        while (at < stop) {
            const uint8_t *here = data + at;
            size_t longest = 0;
            uint32_t distance = 0;
            if (stop - at >= 8) {
                uint32_t word = four(here);
                for (size_t i = 0; i < chunk->count && longest < ENOUGH; i++) {
                    uint32_t likely = chunk->distances[i];
                    if (likely > at || four(here - likely) != word)
                        continue;
                    size_t length = alike(here, here - likely, data + stop);
                    if (length > longest)
                        longest = length, distance = likely;
                }
                if (longest < ENOUGH) { /* six bytes that were seen where nothing was repeated, either */
                    uint32_t *last = &zstd->seen[(eight(here) << 16) * 0x9E3779B185EBCA87u >> (64 - HASH_BITS)];
                    size_t before = *last;
                    *last = (uint32_t)at;
                    if (before && four(data + before) == word) {
                        size_t length = alike(here, data + before, data + stop);
                        if (length >= SHORTEST_FAR && length > longest + FAR_GAIN
                            && !(longest < SHORTEST && goes_on(chunk, at, stop, length)))
                            longest = length, distance = (uint32_t)(at - before);
                    }
                }
            }
            if (longest < SHORTEST) {
                at++;
                if (++odd > 4096 + at / 8)
                    return 0;
                continue;
            }
            if (distance < SMALL && longest > 8 * SMALL)
                longest = 4 * SMALL; /* the rest repeats what lies a multiple of the distance back, too */
            if (number + 2 > zstd->most_sequences)
                return 0;
            found[number++] = (struct sequence){distance, (uint32_t)(at - told), (uint32_t)longest, 0};
            told = at += longest;
        }
        if (number == zstd->most_sequences)
            return 0;
        found[number++] = (struct sequence){0, (uint32_t)(at - told), 0, 0};
    }
    return number;
}

static size_t pack(struct zstd *zstd, const struct chunk *chunk, uint8_t *out, size_t room)
{
    size_t number = find(zstd, chunk), size = chunk->bytes;
    if (!number)
        return 0;
    size_t packed = zstd->compress_sequences(zstd->compressing, out, room, zstd->sequences, number, chunk->data, size);
    if (zstd->is_error(packed))
        return 0;
    size_t back = zstd->decompress(zstd->decompressing, zstd->copy, size, out, packed);
    return back == size && !memcmp(zstd->copy, chunk->data, size) ? packed : 0;
}

/* Compress chunks, each by itself, one behind the other into `out`. */
void playhead_pack(struct zstd *zstd, struct chunk *chunks, size_t number, uint8_t *out, size_t room)
{
    for (size_t i = 0; i < number; i++) {
        size_t packed = pack(zstd, &chunks[i], out, room);
        chunks[i].packed = packed;
        out += packed;
        room -= packed;
    }
}
