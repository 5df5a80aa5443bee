// libcurl's easy interface for Swift: curl_easy_setopt and curl_easy_getinfo are variadic and so not imported.
// One function for each type of argument; the caller passes an option of that type (curl_easy_setopt(3) says which).
#ifndef RINGWAKE_CURL_SHIM_H
#define RINGWAKE_CURL_SHIM_H

// Else GCC's checks turn the two functions into macros that want a constant option at the call.
#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>

static inline CURLcode ringwake_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

// curl_off_t is 64 bits everywhere; passing a long for it would be wrong on 32-bit machines.
static inline CURLcode ringwake_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

// Also for CURLOPT_COPYPOSTFIELDS. libcurl copies the text; NULL puts the default back.
static inline CURLcode ringwake_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

// For CURLOPT_WRITEDATA and its like, and for CURLOPT_ERRORBUFFER: kept by address, not copied.
static inline CURLcode ringwake_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

// Kept by address: the list must outlive the transfers that use it.
static inline CURLcode ringwake_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

// Bytes in place of a file, copied: curl_blob is only read during the call.
static inline CURLcode ringwake_curl_set_blob(CURL *handle, CURLoption option, void *bytes, size_t count) {
    struct curl_blob blob = {.data = bytes, .len = count, .flags = CURL_BLOB_COPY};
    return curl_easy_setopt(handle, option, &blob);
}

// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION, which have the same type.
static inline CURLcode ringwake_curl_set_receiver(CURL *handle, CURLoption option, curl_write_callback value) {
    return curl_easy_setopt(handle, option, value);
}

// 0 where libcurl does not know: each number asked for here means "none" when it is 0.
static inline long ringwake_curl_long(CURL *handle, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

// The same for the times in microseconds.
static inline curl_off_t ringwake_curl_offset(CURL *handle, CURLINFO info) {
    curl_off_t value = 0;
    return curl_easy_getinfo(handle, info, &value) == CURLE_OK ? value : 0;
}

// CURL_GLOBAL_DEFAULT is a macro of shifted macros, which Swift does not import.
static inline CURLcode ringwake_curl_start(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

#endif
