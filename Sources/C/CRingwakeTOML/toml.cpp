// The only C++ file: toml++ has no C interface. It is used header-only and without exceptions, so that neither a
// library nor an unwinding C++ stack reaches Swift.
//
// With some broken files, "[[[" among them, an assertion of toml++ 3.3 fails. It would abort, or with NDEBUG continue
// with a wrong assumption. Here a failing assertion ends the parse, and the file is malformed.
#undef NDEBUG
namespace {
struct malformed {};
}  // namespace
#define TOML_ASSERT(expression) ((expression) ? static_cast<void>(0) : throw malformed())
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0

#include "CRingwakeTOML.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstring>
#include <iterator>

struct ringwake_toml_document {
    toml::table root;
};

namespace {

const toml::node *unwrap(const ringwake_toml_node *node) { return reinterpret_cast<const toml::node *>(node); }

const ringwake_toml_node *wrap(const toml::node *node) { return reinterpret_cast<const ringwake_toml_node *>(node); }

ringwake_toml_text text(std::string_view view) { return {view.data(), view.size()}; }

void describe(ringwake_toml_error *error, std::string_view description, toml::source_position position) {
    const size_t kept = std::min(description.size(), sizeof(error->message) - 1);
    std::memcpy(error->message, description.data(), kept);
    error->message[kept] = '\0';
    error->line = position.line;
    error->column = position.column;
}

/// Whether an assertion fails while parsing `text`.
bool is_malformed(std::string_view text) {
    try {
        static_cast<void>(toml::parse(text));
        return false;
    } catch (const malformed &) {
        return true;
    }
}

/// The line in which the assertion fails; the assertion itself doesn't report it. The parser only moves forward. So the
/// assertion fails for every prefix that extends beyond that line, and for none that ends before it.
uint32_t line_of_malformed(std::string_view text) {
    size_t good = 0, bad = text.size();
    while (bad - good > 1) {
        const size_t middle = good + (bad - good) / 2;
        (is_malformed(text.substr(0, middle)) ? bad : good) = middle;
    }
    return 1 + static_cast<uint32_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(good), '\n'));
}

}  // namespace

extern "C" {

ringwake_toml_document *ringwake_toml_parse(const char *bytes, size_t length, ringwake_toml_error *error) {
    try {
        toml::parse_result result = toml::parse(std::string_view(bytes, length));
        if (result) return new ringwake_toml_document{std::move(result).table()};
        const toml::parse_error &failure = result.error();
        describe(error, failure.description(), failure.source().begin);
    } catch (const malformed &) {
        describe(error, "the line is malformed", {line_of_malformed(std::string_view(bytes, length)), 1});
    }
    return nullptr;
}

void ringwake_toml_free(ringwake_toml_document *document) { delete document; }

const ringwake_toml_node *ringwake_toml_root(const ringwake_toml_document *document) {
    return wrap(&document->root);
}

ringwake_toml_kind ringwake_toml_node_kind(const ringwake_toml_node *node) {
    switch (unwrap(node)->type()) {
        case toml::node_type::table: return RINGWAKE_TOML_TABLE;
        case toml::node_type::array: return RINGWAKE_TOML_ARRAY;
        case toml::node_type::string: return RINGWAKE_TOML_STRING;
        case toml::node_type::integer: return RINGWAKE_TOML_INTEGER;
        case toml::node_type::floating_point: return RINGWAKE_TOML_FLOAT;
        case toml::node_type::boolean: return RINGWAKE_TOML_BOOLEAN;
        default: return RINGWAKE_TOML_DATE;
    }
}

uint32_t ringwake_toml_node_line(const ringwake_toml_node *node) { return unwrap(node)->source().begin.line; }

const ringwake_toml_node *ringwake_toml_member(
    const ringwake_toml_node *node, size_t index, ringwake_toml_text *key, uint32_t *key_line) {
    *key = {nullptr, 0};
    *key_line = 0;
    if (const toml::table *table = unwrap(node)->as_table()) {
        if (index >= table->size()) return nullptr;
        auto member = std::next(table->begin(), static_cast<std::ptrdiff_t>(index));
        *key = text(member->first.str());
        *key_line = member->first.source().begin.line;
        return wrap(&member->second);
    }
    if (const toml::array *array = unwrap(node)->as_array()) {
        return index < array->size() ? wrap(array->get(index)) : nullptr;
    }
    return nullptr;
}

ringwake_toml_text ringwake_toml_string(const ringwake_toml_node *node) {
    const toml::value<std::string> *value = unwrap(node)->as_string();
    return value ? text(value->get()) : ringwake_toml_text{nullptr, 0};
}

int64_t ringwake_toml_integer(const ringwake_toml_node *node) {
    const toml::value<int64_t> *value = unwrap(node)->as_integer();
    return value ? value->get() : 0;
}

bool ringwake_toml_boolean(const ringwake_toml_node *node) {
    const toml::value<bool> *value = unwrap(node)->as_boolean();
    return value && value->get();
}

}  // extern "C"
