#ifndef RINGWAKE_OPENSSL_SHIM_H
#define RINGWAKE_OPENSSL_SHIM_H

// OpenSSL 3.0 for Swift. Swift doesn't import function-like macros. Each one that Ringwake needs is a static inline
// function here, named like the macro with the prefix `ringwake_`.

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// SSL_CTX_set_min_proto_version is a macro over SSL_CTX_ctrl.
static inline long ringwake_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}

// SSL_CTX_set_max_proto_version is a macro over SSL_CTX_ctrl (the tests pin a version with it).
static inline long ringwake_SSL_CTX_set_max_proto_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_max_proto_version(context, version);
}

// SSL_CTX_set_mode is a macro over SSL_CTX_ctrl.
static inline long ringwake_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}

// SSL_CTX_clear_mode is a macro over SSL_CTX_ctrl.
static inline long ringwake_SSL_CTX_clear_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_clear_mode(context, mode);
}

// SSL_CTX_set_session_cache_mode is a macro over SSL_CTX_ctrl.
static inline long ringwake_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}

// SSL_CTX_add1_chain_cert is a macro over SSL_CTX_ctrl.
static inline long ringwake_SSL_CTX_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return SSL_CTX_add1_chain_cert(context, certificate);
}

// SSL_CTX_set1_groups_list is a macro over SSL_CTX_ctrl.
static inline long ringwake_SSL_CTX_set1_groups_list(SSL_CTX *context, const char *groups) {
    return SSL_CTX_set1_groups_list(context, (char *)groups);
}

// SSL_CTX_set_max_cert_list is a macro over SSL_CTX_ctrl.
static inline long ringwake_SSL_CTX_set_max_cert_list(SSL_CTX *context, long bytes) {
    return SSL_CTX_set_max_cert_list(context, bytes);
}

// SSL_set_tlsext_host_name is a macro over SSL_ctrl.
static inline long ringwake_SSL_set_tlsext_host_name(SSL *ssl, const char *name) {
    return SSL_set_tlsext_host_name(ssl, (char *)name);
}

// The SSL_OP_ constants use the function-like macro SSL_OP_BIT, which Swift doesn't import, so they are repeated as
// values.
static const uint64_t ringwake_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t ringwake_SSL_OP_NO_COMPRESSION = SSL_OP_NO_COMPRESSION;
static const uint64_t ringwake_SSL_OP_IGNORE_UNEXPECTED_EOF = SSL_OP_IGNORE_UNEXPECTED_EOF;

// BIO_get_mem_data is a macro over BIO_ctrl.
static inline long ringwake_BIO_get_mem_data(BIO *bio, char **data) {
    return BIO_get_mem_data(bio, data);
}

// OPENSSL_free is a macro that adds file and line.
static inline void ringwake_OPENSSL_free(void *memory) {
    OPENSSL_free(memory);
}

// The sk_X509_ functions are macros over OPENSSL_sk_ with casts that check the stack's type.
static inline STACK_OF(X509) *ringwake_sk_X509_new_null(void) {
    return sk_X509_new_null();
}
static inline int ringwake_sk_X509_num(const STACK_OF(X509) *stack) {
    return sk_X509_num(stack);
}
static inline X509 *ringwake_sk_X509_value(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}
static inline int ringwake_sk_X509_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate);
}
// Frees the stack and drops its reference on every certificate in it.
static inline void ringwake_sk_X509_pop_free(STACK_OF(X509) *stack) {
    sk_X509_pop_free(stack, X509_free);
}

// The same for the stacks of a PKCS#12 file: its safes, and the bags in a safe.
static inline int ringwake_sk_PKCS7_num(const STACK_OF(PKCS7) *stack) {
    return sk_PKCS7_num(stack);
}
static inline PKCS7 *ringwake_sk_PKCS7_value(const STACK_OF(PKCS7) *stack, int index) {
    return sk_PKCS7_value(stack, index);
}
static inline void ringwake_sk_PKCS7_pop_free(STACK_OF(PKCS7) *stack) {
    sk_PKCS7_pop_free(stack, PKCS7_free);
}
static inline int ringwake_sk_PKCS12_SAFEBAG_num(const STACK_OF(PKCS12_SAFEBAG) *stack) {
    return sk_PKCS12_SAFEBAG_num(stack);
}
static inline PKCS12_SAFEBAG *ringwake_sk_PKCS12_SAFEBAG_value(const STACK_OF(PKCS12_SAFEBAG) *stack, int index) {
    return sk_PKCS12_SAFEBAG_value(stack, index);
}
// The tests make files with these three.
static inline STACK_OF(PKCS12_SAFEBAG) *ringwake_sk_PKCS12_SAFEBAG_new_null(void) {
    return sk_PKCS12_SAFEBAG_new_null();
}
static inline int ringwake_sk_PKCS12_SAFEBAG_push(STACK_OF(PKCS12_SAFEBAG) *stack, PKCS12_SAFEBAG *bag) {
    return sk_PKCS12_SAFEBAG_push(stack, bag);
}
static inline void ringwake_sk_PKCS12_SAFEBAG_free(STACK_OF(PKCS12_SAFEBAG) *stack) {
    sk_PKCS12_SAFEBAG_free(stack);
}
static inline void ringwake_sk_PKCS12_SAFEBAG_pop_free(STACK_OF(PKCS12_SAFEBAG) *stack) {
    sk_PKCS12_SAFEBAG_pop_free(stack, PKCS12_SAFEBAG_free);
}

#endif
