// libcurl's easy interface for Swift. curl_easy_setopt and curl_easy_getinfo are variadic, so Swift doesn't import
// them. There is one function for each argument type; the caller must pass an option of that type
// (curl_easy_setopt(3)).
#ifndef RINGWAKE_CURL_SHIM_H
#define RINGWAKE_CURL_SHIM_H

// Without this, GCC's checks turn both functions into macros that require a constant option.
#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>

static inline CURLcode ringwake_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

// curl_off_t is 64 bits everywhere; passing a long for it would be wrong on 32-bit machines.
static inline CURLcode ringwake_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

// Also for CURLOPT_COPYPOSTFIELDS. libcurl copies the text; NULL restores the default.
static inline CURLcode ringwake_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

// For CURLOPT_WRITEDATA and similar, and for CURLOPT_ERRORBUFFER: libcurl keeps the pointer and copies nothing.
static inline CURLcode ringwake_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

// libcurl keeps the pointer, so the list must outlive the transfers that use it.
static inline CURLcode ringwake_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

// Bytes instead of a file. libcurl copies them, and reads curl_blob only during the call.
static inline CURLcode ringwake_curl_set_blob(CURL *handle, CURLoption option, void *bytes, size_t count) {
    struct curl_blob blob = {.data = bytes, .len = count, .flags = CURL_BLOB_COPY};
    return curl_easy_setopt(handle, option, &blob);
}

// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION, which have the same type.
static inline CURLcode ringwake_curl_set_receiver(CURL *handle, CURLoption option, curl_write_callback value) {
    return curl_easy_setopt(handle, option, value);
}

// Returns 0 on failure. For every value that is read here, 0 means "none".
static inline long ringwake_curl_long(CURL *handle, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

// The same for times in microseconds.
static inline curl_off_t ringwake_curl_offset(CURL *handle, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

// CURL_GLOBAL_DEFAULT is built from nested macros, which Swift doesn't import.
static inline CURLcode ringwake_curl_start(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

#endif
