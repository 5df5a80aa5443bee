#define _GNU_SOURCE
#include "handler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// More than the events of many calls have, and any message of the client.
static const size_t maximum_bytes = 4 << 20;

static void no_memory(void) {
    static const char words[] = "no memory\n";
    (void)!write(2, words, sizeof words - 1);
    _exit(1);
}

char *text(const char *format, ...) {
    char *made;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&made, format, arguments) < 0) no_memory();
    va_end(arguments);
    return made;
}

void note(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

char *member(const char *json, const char *name) {
    char *key = text("\"%s\":\"", name);
    const char *found = strstr(json, key);
    size_t skipped = strlen(key);
    free(key);
    if (!found) return NULL;
    const char *begin = found + skipped, *end = begin;
    while (*end && *end != '"') end += *end == '\\' && end[1] ? 2 : 1;
    return *end ? text("%.*s", (int)(end - begin), begin) : NULL;
}

char *plain_member(const char *json, const char *name) {
    char *found = member(json, name);
    if (!found) return NULL;
    char *to = found;
    for (const char *from = found; *from; from++) {
        if (*from == '\\' && from[1] && strchr("/\"\\", from[1])) from++;
        *to++ = *from;
    }
    *to = 0;
    return found;
}

char *encoded(const char *id) {
    char *made = malloc(3 * strlen(id) + 1), *end = made;
    if (!made) no_memory();
    for (; *id; id++) {
        unsigned char byte = (unsigned char)*id;
        bool is_safe = byte < 128 && ((byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z')
            || (byte >= 'a' && byte <= 'z') || strchr("._~@-", byte));
        end += sprintf(end, is_safe ? "%c" : "%%%02X", byte);
    }
    *end = 0;
    return made;
}

char *quoted(const char *plain) {
    char *made = malloc(2 * strlen(plain) + 1), *end = made;
    if (!made) no_memory();
    for (; *plain; plain++) {
        if (*plain == '"' || *plain == '\\') *end++ = '\\';
        *end++ = *plain;
    }
    *end = 0;
    return made;
}

bool buffer_read(struct buffer *buffer, int descriptor) {
    if (buffer->capacity - buffer->count < 16384) {
        size_t wanted = buffer->count + 65536;
        if (wanted > maximum_bytes) return false;
        buffer->bytes = realloc(buffer->bytes, wanted + 1);
        if (!buffer->bytes) no_memory();
        buffer->capacity = wanted;
    }
    ssize_t count = read(descriptor, buffer->bytes + buffer->count, buffer->capacity - buffer->count);
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    buffer->count += (size_t)count;
    // Searches in it end here.
    buffer->bytes[buffer->count] = 0;
    return count > 0;
}

void buffer_drop(struct buffer *buffer, size_t count) {
    buffer->count -= count;
    memmove(buffer->bytes, buffer->bytes + count, buffer->count + 1);
}

int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}
