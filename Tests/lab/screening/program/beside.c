/* The same look-ups by SQLite alone: `beside FILE INDEX COUNT` asks the queries of CallerIndex with as few words as C
 * needs, and makes nothing of what it finds. Prints one JSON object.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(condition) \
    do { if (!(condition)) { fprintf(stderr, "beside: line %d: %s\n", __LINE__, #condition); exit(1); } } while (0)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long resident_kib(void) {
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "VmRSS:", 6) == 0) kib = atol(line + 6);
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

static sqlite3_stmt *prepared(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = 0;
    CHECK(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, 0) == SQLITE_OK);
    return statement;
}

static int find(sqlite3_stmt *query, const char *key, int length) {
    int found = 0;
    sqlite3_bind_text(query, 1, key, length, SQLITE_TRANSIENT);
    while (sqlite3_step(query) == SQLITE_ROW) found += sqlite3_column_text(query, 0) != 0;
    sqlite3_reset(query);
    return found;
}

/* The number, and each of its prefixes that has a length of the index. */
static int look_up(sqlite3_stmt *query, long long lengths, const char *number) {
    int size = (int)strlen(number), found = find(query, number, size);
    char key[34] = "*";
    strcpy(key + 1, number);
    for (int length = size < 16 ? size : 16; length > 0; length--)
        if (lengths >> length & 1) found += find(query, key, length + 1);
    return found > 0;
}

int main(int count_of_arguments, char **arguments) {
    CHECK(count_of_arguments == 4);
    int count = atoi(arguments[3]);
    char (*kinds[3])[32] = {samples(arguments[1], 0, count), samples(arguments[1], 1, count), misses(count)};
    const char *names[] = {"number", "prefix", "miss"};
    char uri[4096];
    sqlite3 *database = 0;
    long before = resident_kib();
    double start = now();
    snprintf(uri, sizeof uri, "file:%s?immutable=1", arguments[2]);
    CHECK(sqlite3_open_v2(uri, &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, 0) == SQLITE_OK);
    CHECK(sqlite3_exec(database, "PRAGMA cache_size = -256", 0, 0, 0) == SQLITE_OK);
    sqlite3_stmt *built = prepared(database, "SELECT prefix_lengths FROM built");
    CHECK(sqlite3_step(built) == SQLITE_ROW);
    long long lengths = sqlite3_column_int64(built, 0);
    sqlite3_finalize(built);
    sqlite3_stmt *query = prepared(database, "SELECT list, label FROM caller WHERE key = ?1 LIMIT 2");
    printf("{\"open_us\":%f", (now() - start) * 1e6);
    for (int kind = 0; kind < 3; kind++) {
        int found = 0;
        start = now();
        for (int i = 0; i < count; i++) found += look_up(query, lengths, kinds[kind][i]);
        printf(",\"%s_us\":%f,\"%s_found\":%d", names[kind], (now() - start) * 1e6 / count, names[kind], found);
    }
    printf(",\"memory_kib\":%ld}\n", resident_kib() - before);
    return 0;
}
