/* The same look-ups by others: SQLite, and the index mapped into memory. Each command prints one JSON object.
 *
 *     beside store FILE DATABASE           puts the entries of FILE into a table, as the journal keeps them
 *     beside sqlite FILE DATABASE COUNT    looks numbers up there, COUNT of each kind
 *     beside mapped FILE INDEX COUNT       looks them up in Ringwake's index by a mapping; of what it finds it makes
 *                                          nothing, and checks nothing: what a look-up costs at the least
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition) \
    do { if (!(condition)) { fprintf(stderr, "beside: line %d: %s\n", __LINE__, #condition); exit(1); } } while (0)

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long memory(const char *name) {
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) kib = atol(line + strlen(name) + 1);
    fclose(file);
    return kib;
}

static uint64_t scrambled(uint64_t value) {
    value *= 0x9E3779B97F4A7C15;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    return value ^ value >> 31;
}

/* The numbers of FILE (or its prefixes, with digits after them), sampled as `lists` does. */
static char (*samples(const char *path, int prefixes, int count))[32] {
    size_t used = 0, room = 1 << 21;
    char (*all)[32] = calloc(room, 32), (*chosen)[32] = calloc((size_t)count, 32), line[1024];
    FILE *file = fopen(path, "r");
    CHECK(file && all && chosen);
    while (fgets(line, sizeof line, file) && used < room) {
        char *pattern = strchr(line, '\t') + 1;
        *strchr(pattern, '\t') = 0;
        size_t length = strlen(pattern);
        int is_prefix = pattern[length - 1] == '*';
        if (pattern[0] != '+' || is_prefix != prefixes || length > 24) continue;
        if (is_prefix) strcpy(pattern + length - 1, "12345");
        strcpy(all[used++], pattern);
    }
    fclose(file);
    for (int i = 0; i < count; i++) strcpy(chosen[i], all[scrambled((uint64_t)i) % used]);
    free(all);
    return chosen;
}

static char (*misses(int count))[32] {
    char (*chosen)[32] = calloc((size_t)count, 32);
    CHECK(chosen);
    for (int i = 0; i < count; i++)
        snprintf(chosen[i], 32, "+493%llu", (unsigned long long)(scrambled((uint64_t)i) % 10000000000));
    return chosen;
}

static void store(const char *path, const char *database) {
    double start = now(CLOCK_MONOTONIC);
    char line[1024];
    sqlite3 *store;
    sqlite3_stmt *insert;
    FILE *file = fopen(path, "r");
    CHECK(file && sqlite3_open(database, &store) == SQLITE_OK);
    CHECK(sqlite3_exec(store,
        "PRAGMA journal_mode=WAL; CREATE TABLE list_entry(list INTEGER NOT NULL, pattern TEXT NOT NULL, label TEXT, "
        "PRIMARY KEY(list, pattern)) WITHOUT ROWID; BEGIN", 0, 0, 0) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(store, "INSERT OR IGNORE INTO list_entry VALUES(?,?,?)", -1, &insert, 0) == SQLITE_OK);
    while (fgets(line, sizeof line, file)) {
        char *pattern = strchr(line, '\t') + 1, *label = strchr(pattern, '\t') + 1;
        label[-1] = 0;
        label[strcspn(label, "\n")] = 0;
        sqlite3_bind_int(insert, 1, line[0] == 's' ? 1 : 2);
        sqlite3_bind_text(insert, 2, pattern, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(insert, 3, label, -1, SQLITE_TRANSIENT);
        CHECK(sqlite3_step(insert) == SQLITE_DONE && sqlite3_reset(insert) == SQLITE_OK);
    }
    sqlite3_finalize(insert);
    CHECK(sqlite3_exec(store, "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)", 0, 0, 0) == SQLITE_OK);
    sqlite3_close(store);
    struct stat status;
    CHECK(stat(database, &status) == 0);
    printf("{\"seconds\":%f,\"bytes\":%lld}\n", now(CLOCK_MONOTONIC) - start, (long long)status.st_size);
}

/* The number and each prefix of it in one statement. */
static int ask_sqlite(sqlite3_stmt *ask, const char *number) {
    char prefix[32];
    size_t length = strlen(number);
    sqlite3_bind_text(ask, 1, number, -1, SQLITE_TRANSIENT);
    for (size_t digits = 1; digits <= 15; digits++) {
        snprintf(prefix, sizeof prefix, "%.*s*", (int)(digits + 1 < length ? digits + 1 : length), number);
        sqlite3_bind_text(ask, (int)digits + 1, prefix, -1, SQLITE_TRANSIENT);
    }
    int found = 0;
    while (sqlite3_step(ask) == SQLITE_ROW) found += sqlite3_column_bytes(ask, 1) > 0;
    sqlite3_reset(ask);
    return found > 0;
}

struct map { const uint8_t *bytes; const uint64_t *header; };

/* The first record whose key is not below `key`, in blocks of 255 records. */
static const uint64_t *find(const struct map *map, uint64_t key) {
    uint64_t low = 0, count = map->header[7], high = count, begin = (4096 + map->header[6] + 4095) / 4096 * 4096;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const uint64_t *record = (const uint64_t *)(map->bytes + begin + middle / 255 * 4096 + middle % 255 * 16);
        if (*record >= key) high = middle; else low = middle + 1;
    }
    if (low == count) return 0;
    return (const uint64_t *)(map->bytes + begin + low / 255 * 4096 + low % 255 * 16);
}

static int ask_map(const struct map *map, const char *number) {
    uint64_t digits = strtoull(number + 1, 0, 10), length = strlen(number) - 1;
    int found = 0;
    for (int prefix = 0; prefix < 2; prefix++) {
        uint64_t rest = digits;
        for (uint64_t size = length; size >= 1; size--, rest /= 10) {
            if (!prefix && size < length) break;
            if (prefix && !(map->header[9] >> (size + 16) & 1)) continue;
            uint64_t key = (UINT64_C(2) | (uint64_t)prefix) << 56 | size << 52 | rest << 1;
            const uint64_t *record = find(map, key);
            found |= record && (*record | 1) == (key | 1);
        }
    }
    return found;
}

int main(int count_of_arguments, char **arguments) {
    if (count_of_arguments == 4 && strcmp(arguments[1], "store") == 0) {
        store(arguments[2], arguments[3]);
        return 0;
    }
    CHECK(count_of_arguments == 5);
    int is_mapped = strcmp(arguments[1], "mapped") == 0, count = atoi(arguments[4]);
    char (*kinds[3])[32] = {samples(arguments[2], 0, count), samples(arguments[2], 1, count), misses(count)};
    const char *names[] = {"number", "prefix", "miss"};
    long before = memory("VmRSS");
    double start = now(CLOCK_PROCESS_CPUTIME_ID);
    sqlite3 *database = 0;
    sqlite3_stmt *ask = 0;
    struct map map = {0};
    if (is_mapped) {
        struct stat status;
        int file = open(arguments[3], O_RDONLY);
        CHECK(file >= 0 && fstat(file, &status) == 0);
        map.bytes = mmap(0, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        CHECK(map.bytes != MAP_FAILED && madvise((void *)map.bytes, (size_t)status.st_size, MADV_RANDOM) == 0);
        map.header = (const uint64_t *)map.bytes;
    } else {
        CHECK(sqlite3_open_v2(arguments[3], &database, SQLITE_OPEN_READONLY, 0) == SQLITE_OK);
        CHECK(sqlite3_prepare_v2(database,
            "SELECT list, pattern, label FROM list_entry WHERE list IN (1, 2) AND pattern IN "
            "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &ask, 0) == SQLITE_OK);
    }
    printf("{\"open_us\":%f", (now(CLOCK_PROCESS_CPUTIME_ID) - start) * 1e6);
    for (int kind = 0; kind < 3; kind++) {
        int found = 0;
        start = now(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < count; i++)
            found += is_mapped ? ask_map(&map, kinds[kind][i]) : ask_sqlite(ask, kinds[kind][i]);
        printf(",\"%s_us\":%f,\"%s_found\":%d", names[kind], (now(CLOCK_PROCESS_CPUTIME_ID) - start) * 1e6 / count, names[kind], found);
    }
    printf(",\"memory_kib\":%ld}\n", memory("VmRSS") - before);
    return 0;
}
