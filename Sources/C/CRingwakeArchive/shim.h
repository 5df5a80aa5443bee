// libarchive for Swift: reads and writes tar with zstd. The library is loaded when it is first used: it brings 15 shared
// libraries, and only backups need it.
#ifndef RINGWAKE_ARCHIVE_SHIM_H
#define RINGWAKE_ARCHIVE_SHIM_H

#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

// The functions of libarchive, each without its prefix: one of them is `errno`, which alone is a macro.
#define RINGWAKE_ARCHIVE_FUNCTIONS(each) \
    each(error_string) \
    each(errno) \
    each(filter_bytes) \
    each(read_new) \
    each(read_free) \
    each(read_append_filter) \
    each(read_support_format_raw) \
    each(read_support_format_tar) \
    each(read_open) \
    each(read_open_fd) \
    each(read_next_header) \
    each(read_data_block) \
    each(write_new) \
    each(write_free) \
    each(write_fail) \
    each(write_add_filter_zstd) \
    each(write_set_format_pax_restricted) \
    each(write_open_fd) \
    each(write_header) \
    each(write_data) \
    each(write_close) \
    each(entry_new) \
    each(entry_free) \
    each(entry_filetype) \
    each(entry_hardlink) \
    each(entry_pathname) \
    each(entry_size) \
    each(entry_size_is_set) \
    each(entry_set_filetype) \
    each(entry_set_mtime) \
    each(entry_set_pathname) \
    each(entry_set_perm) \
    each(entry_set_size)

typedef struct {
#define RINGWAKE_ARCHIVE_POINTER(name) __typeof__(&archive_##name) archive_##name;
    RINGWAKE_ARCHIVE_FUNCTIONS(RINGWAKE_ARCHIVE_POINTER)
#undef RINGWAKE_ARCHIVE_POINTER
} ringwake_archive;

// Loads the library; it stays loaded. False with `*why` from dlerror(3) if it isn't there, or lacks a function. The
// version in the name is that of its interface, which has been the same since libarchive 3.0 (2011).
static inline bool ringwake_archive_load(ringwake_archive *library, const char **why) {
    void *handle = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL);
    bool is_complete = handle != NULL;
#define RINGWAKE_ARCHIVE_FIND(name) \
    if (is_complete) { \
        library->archive_##name = (__typeof__(library->archive_##name))dlsym(handle, "archive_" #name); \
        is_complete = library->archive_##name != NULL; \
    }
    RINGWAKE_ARCHIVE_FUNCTIONS(RINGWAKE_ARCHIVE_FIND)
#undef RINGWAKE_ARCHIVE_FIND
    *why = is_complete ? NULL : dlerror();
    return is_complete;
}

// AE_IFREG is a cast, which Swift doesn't import.
static const unsigned int ringwake_archive_regular_file = AE_IFREG;

#endif
