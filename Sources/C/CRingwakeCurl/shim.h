// libcurl's easy and multi interfaces for Swift. The library is loaded when it is first used: it brings 33 shared libraries, whose
// loading takes longer than most commands of `ringwake` as a whole, and few commands use it.
//
// curl_easy_setopt and curl_easy_getinfo are variadic, so Swift doesn't import them. There is one function for each
// argument type; the caller must pass an option of that type (curl_easy_setopt(3)).
#ifndef RINGWAKE_CURL_SHIM_H
#define RINGWAKE_CURL_SHIM_H

// Without this, GCC's checks turn both functions into macros that require a constant option.
#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>
#include <dlfcn.h>
#include <stdbool.h>

// The functions of libcurl, with the types of its header.
typedef struct {
    __typeof__(&curl_global_init) global_init;
    __typeof__(&curl_easy_init) easy_init;
    __typeof__(&curl_easy_cleanup) easy_cleanup;
    __typeof__(&curl_easy_setopt) easy_setopt;
    __typeof__(&curl_easy_getinfo) easy_getinfo;
    __typeof__(&curl_easy_perform) easy_perform;
    __typeof__(&curl_easy_strerror) easy_strerror;
    __typeof__(&curl_slist_append) slist_append;
    __typeof__(&curl_slist_free_all) slist_free_all;
    __typeof__(&curl_multi_init) multi_init;
    __typeof__(&curl_multi_cleanup) multi_cleanup;
    __typeof__(&curl_multi_setopt) multi_setopt;
    __typeof__(&curl_multi_add_handle) multi_add_handle;
    __typeof__(&curl_multi_remove_handle) multi_remove_handle;
    __typeof__(&curl_multi_perform) multi_perform;
    __typeof__(&curl_multi_poll) multi_poll;
    __typeof__(&curl_multi_info_read) multi_info_read;
} ringwake_curl;

// Loads the library; it stays loaded. False with `*why` from dlerror(3) if it isn't there, or lacks a function. The
// version in the name is that of its interface, which has been the same since 2006.
static inline bool ringwake_curl_load(ringwake_curl *curl, const char **why) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    bool is_complete = library != NULL;
#define RINGWAKE_CURL_FIND(name) \
    if (is_complete) { \
        curl->name = (__typeof__(curl->name))dlsym(library, "curl_" #name); \
        is_complete = curl->name != NULL; \
    }
    RINGWAKE_CURL_FIND(global_init)
    RINGWAKE_CURL_FIND(easy_init)
    RINGWAKE_CURL_FIND(easy_cleanup)
    RINGWAKE_CURL_FIND(easy_setopt)
    RINGWAKE_CURL_FIND(easy_getinfo)
    RINGWAKE_CURL_FIND(easy_perform)
    RINGWAKE_CURL_FIND(easy_strerror)
    RINGWAKE_CURL_FIND(slist_append)
    RINGWAKE_CURL_FIND(slist_free_all)
    RINGWAKE_CURL_FIND(multi_init)
    RINGWAKE_CURL_FIND(multi_cleanup)
    RINGWAKE_CURL_FIND(multi_setopt)
    RINGWAKE_CURL_FIND(multi_add_handle)
    RINGWAKE_CURL_FIND(multi_remove_handle)
    RINGWAKE_CURL_FIND(multi_perform)
    RINGWAKE_CURL_FIND(multi_poll)
    RINGWAKE_CURL_FIND(multi_info_read)
#undef RINGWAKE_CURL_FIND
    *why = is_complete ? NULL : dlerror();
    return is_complete;
}

static inline CURLcode ringwake_curl_set_long(const ringwake_curl *curl, CURL *handle, CURLoption option, long value) {
    return curl->easy_setopt(handle, option, value);
}

// curl_off_t is 64 bits everywhere; passing a long for it would be wrong on 32-bit machines.
static inline CURLcode ringwake_curl_set_offset(const ringwake_curl *curl, CURL *handle, CURLoption option, curl_off_t value) {
    return curl->easy_setopt(handle, option, value);
}

// Also for CURLOPT_COPYPOSTFIELDS. libcurl copies the text; NULL restores the default.
static inline CURLcode ringwake_curl_set_text(const ringwake_curl *curl, CURL *handle, CURLoption option, const char *value) {
    return curl->easy_setopt(handle, option, value);
}

// For CURLOPT_WRITEDATA and similar, and for CURLOPT_ERRORBUFFER: libcurl keeps the pointer and copies nothing.
static inline CURLcode ringwake_curl_set_pointer(const ringwake_curl *curl, CURL *handle, CURLoption option, void *value) {
    return curl->easy_setopt(handle, option, value);
}

// libcurl keeps the pointer, so the list must outlive the transfers that use it.
static inline CURLcode ringwake_curl_set_list(const ringwake_curl *curl, CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl->easy_setopt(handle, option, value);
}

// Bytes instead of a file. libcurl copies them, and reads curl_blob only during the call.
static inline CURLcode ringwake_curl_set_blob(const ringwake_curl *curl, CURL *handle, CURLoption option, void *bytes, size_t count) {
    struct curl_blob blob = {.data = bytes, .len = count, .flags = CURL_BLOB_COPY};
    return curl->easy_setopt(handle, option, &blob);
}

// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION, which have the same type.
static inline CURLcode ringwake_curl_set_receiver(const ringwake_curl *curl, CURL *handle, CURLoption option, curl_write_callback value) {
    return curl->easy_setopt(handle, option, value);
}

// Returns 0 on failure. For every value that is read here, 0 means "none".
static inline long ringwake_curl_long(const ringwake_curl *curl, CURL *handle, CURLINFO info) {
    long value = 0;
    return curl->easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

// The same for times in microseconds.
static inline curl_off_t ringwake_curl_offset(const ringwake_curl *curl, CURL *handle, CURLINFO info) {
    curl_off_t value = 0;
    return curl->easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

static inline CURLMcode ringwake_curl_multi_set_long(const ringwake_curl *curl, CURLM *multi, CURLMoption option, long value) {
    return curl->multi_setopt(multi, option, value);
}

// The next transfer that has ended, with its result; NULL if there is none. The union in CURLMsg has no name for Swift.
static inline CURL *ringwake_curl_next_ended(const ringwake_curl *curl, CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl->multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

// Waits until a transfer has work, or `bell` is readable.
static inline void ringwake_curl_wait(const ringwake_curl *curl, CURLM *multi, int bell, int milliseconds) {
    struct curl_waitfd extra = {.fd = bell, .events = CURL_WAIT_POLLIN};
    curl->multi_poll(multi, &extra, 1, milliseconds, NULL);
}

// CURL_GLOBAL_DEFAULT is built from nested macros, which Swift doesn't import.
static inline CURLcode ringwake_curl_start(const ringwake_curl *curl) { return curl->global_init(CURL_GLOBAL_DEFAULT); }

#endif
