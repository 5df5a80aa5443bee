// Which open descriptors belong to the store that a test watches.
//
// For libraries that are loaded before all others (LD_PRELOAD) and stand in for functions of the C library. A
// descriptor is known from open(2) to close(2). SQLite duplicates none.
//
// Environment:
//   WATCHED_PROGRAM  only programs of these names, with commas between them, are watched, not the handlers that inherit
//                    their environment
//   WATCHED_STORE    the store's path; files whose path begins with it are watched, and the folder that holds it. With a
//                    slash at its end: everything in that folder, and in the folders in it

#ifndef WATCHED_FILES_H
#define WATCHED_FILES_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

// More descriptors than a daemon under test opens; higher ones are not watched, and a test that has them fails for want
// of records.
#define DESCRIPTORS 65536

// Calls the function that this library stands in for.
#define REAL(name) ((__typeof__(&name))real_function(#name))

static char watched_store[PATH_MAX];
static char watched_folder[PATH_MAX];
static bool is_watching;

// Gives up loudly: a library that watches nothing would let every test pass.
static void give_up(const char *what) {
    dprintf(STDERR_FILENO, "watched_files: %s: %s\n", what, strerror(errno));
    _exit(97);
}

static void *real_function(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) give_up(name);
    return found;
}

// Whether a list with commas has this program's name.
static bool has_own_name(const char *list) {
    size_t length = strlen(program_invocation_short_name);
    for (const char *name = list; name; name = strchr(name, ',') ? strchr(name, ',') + 1 : NULL) {
        bool is_own = strncmp(name, program_invocation_short_name, length) == 0;
        if (is_own && (name[length] == 0 || name[length] == ',')) return true;
    }
    return false;
}

// Reads the environment. False when this process is not to be watched.
static bool begin_watching(void) {
    const char *program = getenv("WATCHED_PROGRAM");
    const char *store = getenv("WATCHED_STORE");
    if (!program || !store || !has_own_name(program)) return false;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", store);
    char *slash = strrchr(folder, '/');
    if (!slash) give_up("WATCHED_STORE is no whole path");
    *slash = 0;
    // The folder may not be there yet: then its path has to be free of symbolic links.
    if (!realpath(folder, watched_folder)) snprintf(watched_folder, sizeof watched_folder, "%s", folder);
    if (snprintf(watched_store, sizeof watched_store, "%s/%s", watched_folder, slash + 1) >= PATH_MAX) {
        give_up("WATCHED_STORE is too long");
    }
    is_watching = true;
    return true;
}

// The name of an open descriptor's file within the store's folder, "." for the folder; NULL for any other file.
static const char *watched_name(int descriptor, char path[static PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return NULL;
    path[length] = 0;
    if (strcmp(path, watched_folder) == 0) return ".";
    if (strncmp(path, watched_store, strlen(watched_store)) != 0) return NULL;
    return path + strlen(watched_folder) + 1;
}

#endif
