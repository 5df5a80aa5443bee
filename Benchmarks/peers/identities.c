#define _GNU_SOURCE
#include "identities.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stamps.h"

static const long CERTIFICATE_SECONDS = 10L * 365 * 86400;

static void *checked(void *made) {
    if (!made)
        fail("OpenSSL");
    return made;
}

static FILE *file_in(const char *folder, const char *name, const char *mode) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, mode);
}

static void base32(const unsigned char digest[SHA256_DIGEST_LENGTH], char text[53]) {
    for (int i = 0; i < 52; i++) {
        unsigned value = 0;
        for (int bit = i * 5; bit < i * 5 + 5; bit++)
            value = value << 1 | (bit < 256 ? digest[bit / 8] >> (7 - bit % 8) & 1u : 0);
        text[i] = "abcdefghijklmnopqrstuvwxyz234567"[value];
    }
    text[52] = 0;
}

static X509 *certificate(EVP_PKEY *key, const char *name, long serial, X509 *issuer, EVP_PKEY *issuer_key) {
    X509 *made = checked(X509_new());
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), serial);
    X509_gmtime_adj(X509_getm_notBefore(made), -86400);
    X509_gmtime_adj(X509_getm_notAfter(made), CERTIFICATE_SECONDS);
    X509_NAME_add_entry_by_txt(
        X509_get_subject_name(made), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(issuer ? issuer : made));
    X509_set_pubkey(made, key);
    X509_EXTENSION *constraints =
        checked(X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE"));
    X509_add_ext(made, constraints, -1);
    X509_EXTENSION_free(constraints);
    if (X509_sign(made, issuer_key, EVP_sha256()) == 0)
        fail("X509_sign");
    return made;
}

static void describe(struct identity *identity) {
    unsigned char *end = identity->spki, digest[SHA256_DIGEST_LENGTH];
    if (i2d_PUBKEY(identity->key, NULL) != SPKI_BYTES || i2d_PUBKEY(identity->key, &end) != SPKI_BYTES)
        fail("a key is not on P-256");
    SHA256(identity->spki, SPKI_BYTES, digest);
    base32(digest, identity->id);
}

static void make(const char *folder, struct identity *all, size_t count) {
    EVP_PKEY *ca_key = checked(EVP_EC_gen("P-256"));
    X509 *ca = certificate(ca_key, "the fleet's CA", 1, NULL, ca_key);
    FILE *file = file_in(folder, "ca.pem", "w"), *devices = file_in(folder, "devices", "w");
    if (!file || !devices)
        fail(folder);
    PEM_write_X509(file, ca);
    fclose(file);
    file = file_in(folder, "keys.pem", "w");
    for (size_t i = 0; i < count; i++) {
        all[i].key = checked(EVP_EC_gen("P-256"));
        describe(&all[i]);
        all[i].certificate = certificate(all[i].key, all[i].id, (long)i + 2, ca, ca_key);
        PEM_write_PrivateKey(file, all[i].key, NULL, NULL, 0, NULL, NULL);
        PEM_write_X509(file, all[i].certificate);
        fprintf(devices, "%s\n", all[i].id);
    }
    if (fclose(file) != 0 || fclose(devices) != 0)
        fail(folder);
}

struct identity *identities(const char *folder, size_t count) {
    struct identity *all = calloc(count, sizeof *all);
    FILE *file = file_in(folder, "keys.pem", "r");
    size_t found = 0;
    while (file && found < count) {
        struct identity *next = &all[found];
        if (!(next->key = PEM_read_PrivateKey(file, NULL, NULL, NULL)) ||
            !(next->certificate = PEM_read_X509(file, NULL, NULL, NULL)))
            break;
        describe(next);
        found += 1;
    }
    if (file)
        fclose(file);
    if (found < count)
        make(folder, all, count);
    return all;
}

void sign_es256(EVP_PKEY *key, const void *message, size_t length, unsigned char signature[SIGNATURE_BYTES]) {
    unsigned char der[80];
    const unsigned char *start = der;
    size_t size = sizeof der;
    EVP_MD_CTX *context = checked(EVP_MD_CTX_new());
    if (EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
        EVP_DigestSign(context, der, &size, message, length) != 1)
        fail("EVP_DigestSign");
    EVP_MD_CTX_free(context);
    ECDSA_SIG *numbers = checked(d2i_ECDSA_SIG(NULL, &start, (long)size));
    BN_bn2binpad(ECDSA_SIG_get0_r(numbers), signature, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(numbers), signature + 32, 32);
    ECDSA_SIG_free(numbers);
}
