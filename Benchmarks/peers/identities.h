/* The keys and certificates of a fleet of devices, made once into a folder. */
#ifndef IDENTITIES_H
#define IDENTITIES_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stddef.h>

enum { SPKI_BYTES = 91, SIGNATURE_BYTES = 64 };

struct identity {
    EVP_PKEY *key;                   /* ECDSA on P-256 */
    X509 *certificate;               /* for that key, by the CA of the folder, `ca.pem` */
    unsigned char spki[SPKI_BYTES];  /* SubjectPublicKeyInfo */
    char id[53];                     /* SHA-256 of that in base32 */
};

/* The first `count` identities of the folder. Makes them all if it has fewer; then `devices` has their ids, one a line.
 * Exits on failure. */
struct identity *identities(const char *folder, size_t count);

/* The raw ES256 signature (r, s) over `message`. */
void sign_es256(EVP_PKEY *key, const void *message, size_t length, unsigned char signature[SIGNATURE_BYTES]);

#endif
