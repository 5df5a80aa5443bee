// toml++ with a C interface that Swift imports: a parsed document as a tree of nodes, each with its line.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A parsed document. It owns every node and every text that these functions return.
typedef struct ringwake_toml_document ringwake_toml_document;

/// A value of a document. Valid while its document exists.
typedef struct ringwake_toml_node ringwake_toml_node;

typedef enum {
    RINGWAKE_TOML_TABLE,
    RINGWAKE_TOML_ARRAY,
    RINGWAKE_TOML_STRING,
    RINGWAKE_TOML_INTEGER,
    RINGWAKE_TOML_FLOAT,
    RINGWAKE_TOML_BOOLEAN,
    RINGWAKE_TOML_DATE,
} ringwake_toml_kind;

/// Text without a terminating zero byte.
typedef struct {
    const char *_Nullable bytes;
    size_t length;
} ringwake_toml_text;

/// Why a document can't be parsed, and where. Lines and columns start at 1.
typedef struct {
    char message[256];
    uint32_t line;
    uint32_t column;
} ringwake_toml_error;

/// Parses `length` bytes of UTF-8. Returns null and sets `error` if they aren't TOML 1.0.
ringwake_toml_document *_Nullable ringwake_toml_parse(
    const char *_Nonnull text, size_t length, ringwake_toml_error *_Nonnull error);

void ringwake_toml_free(ringwake_toml_document *_Nonnull document);

/// The document's root table.
const ringwake_toml_node *_Nonnull ringwake_toml_root(const ringwake_toml_document *_Nonnull document);

ringwake_toml_kind ringwake_toml_node_kind(const ringwake_toml_node *_Nonnull node);

/// The line of a value, from 1; 0 for a table without a header.
uint32_t ringwake_toml_node_line(const ringwake_toml_node *_Nonnull node);

/// The member at `index` of a table (with its key and the key's line) or of an array (with an empty key); null after
/// the last.
const ringwake_toml_node *_Nullable ringwake_toml_member(
    const ringwake_toml_node *_Nonnull node, size_t index, ringwake_toml_text *_Nonnull key,
    uint32_t *_Nonnull key_line);

/// The value of a string; empty for other values.
ringwake_toml_text ringwake_toml_string(const ringwake_toml_node *_Nonnull node);

/// The value of an integer; 0 for other values.
int64_t ringwake_toml_integer(const ringwake_toml_node *_Nonnull node);

/// The value of a boolean; false for other values.
bool ringwake_toml_boolean(const ringwake_toml_node *_Nonnull node);

#ifdef __cplusplus
}
#endif
